// SPDX-License-Identifier: Apache-2.0
// Compresses a finished trace in place, chunk by chunk: numbers and bounds of the chunks stay, so a compressed trace is
// as robust against damage as a raw one. For the command line, after the program under test has ended.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace synctrace::format {

inline constexpr int kDefaultCompressionLevel = 3;

struct Compression {
  std::uint64_t bytes_before = 0;
  std::uint64_t bytes_after = 0;
  std::uint64_t compressed_chunks = 0;  // the others would not have become smaller, or were compressed already
};

// Writes beside `path` and renames, so that at every moment `path` is one complete trace or the other. Fails, and
// leaves the file alone, when it is damaged in any way (what is left of it is evidence) or cannot be written.
Result<Compression> compress_trace(const std::string& path, int level = kDefaultCompressionLevel);

}  // namespace synctrace::format
