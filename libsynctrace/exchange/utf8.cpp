// SPDX-License-Identifier: Apache-2.0
#include "exchange/utf8.h"

#include <cstddef>
#include <cstdint>

namespace synctrace {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

// Bytes of the character that `text` begins with; 0 where it begins with none.
std::size_t character_bytes(std::string_view text) noexcept {
  const auto byte = [&](std::size_t at) { return static_cast<std::uint8_t>(text[at]); };
  const std::uint8_t lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t count = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < count) return 0;
  for (std::size_t i = 1; i < count; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  // Neither longer than need be, nor a surrogate, nor beyond U+10FFFF.
  if (lead == 0xe0 && byte(1) < 0xa0) return 0;
  if (lead == 0xed && byte(1) > 0x9f) return 0;
  if (lead == 0xf0 && byte(1) < 0x90) return 0;
  if (lead == 0xf4 && byte(1) > 0x8f) return 0;
  return count;
}

}  // namespace

std::string valid_utf8(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const std::size_t count = character_bytes(text);
    if (count == 0)
      result += kReplacement;
    else
      result += text.substr(0, count);
    text.remove_prefix(count == 0 ? 1 : count);
  }
  return result;
}

std::string valid_text(std::string_view text) {
  std::string result = valid_utf8(text);
  for (std::size_t at = result.find('\0'); at != std::string::npos; at = result.find('\0', at)) result.replace(at, 1, kReplacement);
  return result;
}

}  // namespace synctrace
