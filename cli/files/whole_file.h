// SPDX-License-Identifier: Apache-2.0
// Small files in one piece, for the verbs that read or write them. Errors are one sentence naming the file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace synctrace::cli {

// "-" is stdin. What is no regular file, or larger, is refused.
Result<std::string> read_whole_file(const std::string& path, std::uint64_t most_bytes);

// Replaces the file; "-" and an empty path are stdout. The error, if there was one.
std::optional<Error> write_whole_file(const std::string& path, std::string_view content);

}  // namespace synctrace::cli
