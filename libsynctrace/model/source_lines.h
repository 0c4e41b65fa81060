// SPDX-License-Identifier: Apache-2.0
// The text of source lines that a report shows, read on the machine that ran the program. No text is a normal answer:
// the file may be gone, generated, or somewhere else. Never waits and never reads what is not a regular file. One
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace synctrace {

struct SourceLine {
  std::string file;
  std::uint32_t line = 0;  // from 1
  friend bool operator==(const SourceLine&, const SourceLine&) = default;
};

inline constexpr std::size_t kLongestSourceLine = 200;                    // bytes; longer ones are cut at a character
inline constexpr std::size_t kLargestSourceFile = std::size_t{16} << 20;  // bytes; larger files have no text

// One text per question, in order: without indentation and line end, control characters and broken UTF-8 as '?'. Empty
// when there is none. Relative names start at `folder`, the working folder of the program; empty: they have no text.
// Each file is read once.
std::vector<std::string> read_source_lines(const std::vector<SourceLine>& lines, const std::string& folder = {});

// What is shown of a line's bytes.
std::string shown_source_line(std::string_view bytes);

}  // namespace synctrace
