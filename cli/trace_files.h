// SPDX-License-Identifier: Apache-2.0
// The traces that a user names: files, and folders of them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/outstanding.h"
#include "model/trace.h"

namespace synctrace::cli {

// Files as they are, folders as the traces in them by name.
Result<std::vector<std::string>> expand_traces(const std::vector<std::string>& paths);

// The file name of a trace without its folder and its endings.
std::string trace_stem(std::string_view path);

// The trace, or nothing, and then one line on stderr from `who` that says why not and where to look.
// `joins`: as of load_trace().
std::optional<Trace> load_or_say(const std::string& path, std::string_view who, std::optional<Joins>* joins = nullptr);

}  // namespace synctrace::cli
