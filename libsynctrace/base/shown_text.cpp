// SPDX-License-Identifier: Apache-2.0
#include "base/shown_text.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/utf8.h"

namespace synctrace {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

void put_escape(std::uint32_t code, std::string& out) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) out += kDigits[(code >> shift) & 0xfU];
}

// `for_broken` stands for each byte that is no UTF-8; `put` adds a character that is.
template <class Put>
std::string converted(std::string_view text, std::string_view for_broken, const Put& put) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Utf8Character character = first_character(text);
    if (character.bytes == 0)
      out += for_broken;
    else if (is_deceptive(character.code))
      put_escape(character.code, out);
    else
      put(character.code, text.substr(0, character.bytes), out);
    text.remove_prefix(std::max<std::size_t>(character.bytes, 1));
  }
  return out;
}

}  // namespace

std::string printable(std::string_view text) {
  // Nearly all names are plain.
  if (std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; })) return std::string(text);
  return converted(text, "?", [](std::uint32_t code, std::string_view bytes, std::string& out) {
    out += is_control(code) ? "?" : bytes;
  });
}

std::string valid_utf8(std::string_view text) {
  return converted(text, kReplacement, [](std::uint32_t, std::string_view bytes, std::string& out) { out += bytes; });
}

std::string valid_text(std::string_view text) {
  return converted(text, kReplacement, [](std::uint32_t code, std::string_view bytes, std::string& out) {
    out += code == 0 ? kReplacement : bytes;
  });
}

}  // namespace synctrace
