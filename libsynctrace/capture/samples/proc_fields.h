// SPDX-License-Identifier: Apache-2.0
// Numbers in lines of /proc.
#pragma once

#include <charconv>
#include <cstdint>
#include <string_view>

namespace synctrace::capture {

// The number behind `skipped` fields that single spaces part; 0 where there is none.
inline std::uint64_t field(std::string_view text, int skipped) noexcept {
  for (; skipped > 0; --skipped) {
    const std::size_t space = text.find(' ');
    if (space == std::string_view::npos) return 0;
    text.remove_prefix(space + 1);
  }
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace synctrace::capture
