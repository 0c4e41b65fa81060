// SPDX-License-Identifier: Apache-2.0
// The text of source lines that a report shows, read on the machine that ran the program. No text is a normal answer:
// the file may be gone, generated, changed since, somewhere else, or outside of what may be read. Never waits and never
// reads what is not a regular file. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/source_roots.h"
#include "model/trace.h"

namespace synctrace {

inline constexpr std::size_t kLongestSourceLine = 200;                      // bytes; longer ones are cut at a character
inline constexpr std::size_t kLargestSourceFile = std::size_t{16} << 20;    // bytes; larger files have no text
inline constexpr std::uint64_t kMostSourceBytes = std::uint64_t{64} << 20;  // for all files of one trace

struct SourceOrigin {
  std::string folder;          // where relative names start, the program's working folder; empty: they have no text
  std::uint64_t as_of_ns = 0;  // wall time; a file changed later is not what ran and has no text; 0: any time will do
  SourceRoots roots;           // what may be read
};

struct SourceTexts {
  std::vector<std::string> texts;   // one per question, in order; empty: none
  std::uint64_t changed_files = 0;  // changed after `as_of_ns`
  std::uint64_t outside_files = 0;  // are there, and may not be read
};

// Texts come without indentation and line end, control characters and broken UTF-8 as '?'. Each file is read once, up
// to kMostSourceBytes in all.
SourceTexts read_source_lines(const std::vector<FileLine>& lines, const SourceOrigin& origin = {});

// What is shown of a line's bytes.
std::string shown_source_line(std::string_view bytes);

}  // namespace synctrace
