// SPDX-License-Identifier: Apache-2.0
// Texts inside of XML, as JUnit's files are.
#pragma once

#include <string>
#include <string_view>

#include "base/shown_text.h"

namespace synctrace {

// Printable first: XML 1.0 has no way to write control characters or broken UTF-8.
inline std::string xml_text(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&apos;"; break;
      default: out += c;
    }
  }
  return out;
}

}  // namespace synctrace
