// SPDX-License-Identifier: Apache-2.0
// The one decoder of UTF-8, and which characters a reader would not see as what they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace synctrace {

struct Utf8Character {
  std::uint32_t code = 0;
  std::size_t bytes = 0;  // 0: what stands there is no valid UTF-8
};

// The character that `text`, which is not empty, begins with. Overlong forms, surrogates and what lies beyond U+10FFFF
// are not valid.
constexpr Utf8Character first_character(std::string_view text) noexcept {
  const auto byte = [&](std::size_t at) { return std::uint32_t{static_cast<std::uint8_t>(text[at])}; };
  const std::uint32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t count = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < count) return {};
  std::uint32_t code = lead & (0xffU >> (count + 1));
  for (std::size_t i = 1; i < count; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) return {};
    code = (code << 6) | (byte(i) & 0x3fU);
  }
  const std::uint32_t smallest = count == 4 ? 0x10000 : count == 3 ? 0x800 : 0x80;
  if (code < smallest || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return {};
  return {code, count};
}

constexpr bool is_control(std::uint32_t code) noexcept { return code < 0x20 || (code >= 0x7f && code < 0xa0); }

// Characters that are not seen but change what stands around them: marks, embeddings, overrides and isolates of
// direction, separators of lines, the byte order mark.
constexpr bool is_deceptive(std::uint32_t code) noexcept {
  return code == 0x61c || code == 0x200e || code == 0x200f || (code >= 0x2028 && code <= 0x202e) ||
         (code >= 0x2066 && code <= 0x2069) || code == 0xfeff;
}

}  // namespace synctrace
