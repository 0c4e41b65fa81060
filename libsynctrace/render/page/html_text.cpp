// SPDX-License-Identifier: Apache-2.0
#include "render/page/html_text.h"

#include "base/shown_text.h"
#include "render/columns.h"

namespace synctrace::page {
namespace {

std::string_view escape_of(char c) noexcept {
  switch (c) {
    case '&': return "&amp;";
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '"': return "&quot;";
    case '\'': return "&#39;";
    default: return {};
  }
}

}  // namespace

std::string html_text(std::string_view text, std::size_t columns) {
  // A column has at most 4 bytes: what lies behind cannot be shown, and need not be looked at.
  const std::string clean = fitted(printable(text.substr(0, 4 * columns + 4)), columns);
  std::string out;
  out.reserve(clean.size());
  for (std::size_t i = 0; i < clean.size(); ++i) {
    const std::string_view escape = escape_of(clean[i]);
    if (!escape.empty()) {
      out += escape;
    } else {
      out += clean[i];
    }
  }
  return out;
}

}  // namespace synctrace::page
