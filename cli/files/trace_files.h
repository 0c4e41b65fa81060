// SPDX-License-Identifier: Apache-2.0
// The traces that a user names: files, and folders of them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace synctrace::cli {

// Files as they are, folders as the traces in them by name.
Result<std::vector<std::string>> expand_traces(const std::vector<std::string>& paths);

// The file name of a trace without its folder and its endings.
std::string trace_stem(std::string_view path);

}  // namespace synctrace::cli
