// SPDX-License-Identifier: Apache-2.0
#include "render/marked_text.h"

#include <algorithm>

#include "base/shown_text.h"
#include "base/utf8.h"

namespace synctrace {

std::string marked_text(std::string_view text, std::size_t most_bytes) {
  const std::string shown = printable(text);
  std::string out = "`";
  for (std::string_view rest = shown; !rest.empty();) {
    const std::size_t bytes = std::max<std::size_t>(1, first_character(rest).bytes);
    if (out.size() + bytes > most_bytes) return out + "..`";
    out += rest.front() == '`' ? std::string_view("\\u0060") : rest.substr(0, bytes);
    rest.remove_prefix(bytes);
  }
  return out + '`';
}

}  // namespace synctrace
