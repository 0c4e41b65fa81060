// SPDX-License-Identifier: Apache-2.0
// A line of a source file, also as users write it: "train.py:88".
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace synctrace {

struct FileLine {
  std::string file;
  std::uint32_t line = 0;  // from 1
  friend auto operator<=>(const FileLine&, const FileLine&) = default;
};

inline constexpr const char* kExpectedFileLine = "FILE:LINE, as train.py:88";

// Nothing where a part is missing or the line is no number from 1.
std::optional<FileLine> parse_file_line(std::string_view text);

}  // namespace synctrace
