// SPDX-License-Identifier: Apache-2.0
#include "report/page/html_text.h"

#include <algorithm>
#include <array>

#include "report/words.h"

namespace synctrace::page {
namespace {

// Characters that are not seen but move what stands around them: marks, embeddings, overrides and isolates of direction,
// separators of lines, and the byte order mark.
constexpr std::array<std::string_view, 15> kUnseen = {
    "\u061c", "\u200e", "\u200f", "\u2028", "\u2029", "\u202a", "\u202b", "\u202c",
    "\u202d", "\u202e", "\u2066", "\u2067", "\u2068", "\u2069", "\ufeff"};

bool is_unseen(std::string_view rest) noexcept {
  return std::any_of(kUnseen.begin(), kUnseen.end(), [&](std::string_view one) { return rest.starts_with(one); });
}

std::string_view escape_of(char c) noexcept {
  switch (c) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    default:
      return {};
  }
}

}  // namespace

std::string html_text(std::string_view text, std::size_t columns) {
  // A column has at most 4 bytes: what lies behind cannot be shown, and need not be looked at.
  const std::string clean = fitted(printable(text.substr(0, 4 * columns + 4)), columns);
  std::string out;
  out.reserve(clean.size());
  for (std::size_t i = 0; i < clean.size(); ++i) {
    const std::string_view rest = std::string_view(clean).substr(i);
    const std::string_view escape = escape_of(clean[i]);
    if (is_unseen(rest)) {
      out += "\ufffd";
      i += rest[0] == '\xd8' ? 1 : 2;
    } else if (!escape.empty()) {
      out += escape;
    } else {
      out += clean[i];
    }
  }
  return out;
}

}  // namespace synctrace::page
