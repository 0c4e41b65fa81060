// SPDX-License-Identifier: Apache-2.0
#include "render/columns.h"

#include <algorithm>

namespace synctrace {
namespace {

bool is_character_start(char c) noexcept { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

}  // namespace

std::size_t columns_of(std::string_view text) noexcept {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), is_character_start));
}

std::string fitted(std::string_view text, std::size_t columns) {
  std::size_t used = 0;
  std::size_t cut = text.size();
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!is_character_start(text[i])) continue;
    if (used == columns - 2) cut = i;
    ++used;
  }
  return used <= columns ? std::string(text) : std::string(text.substr(0, cut)) + "..";
}

std::string fitted_tail(std::string_view text, std::size_t columns) {
  const std::size_t all = columns_of(text);
  if (all <= columns) return std::string(text);
  std::size_t over = all - (columns - 2);
  std::size_t cut = 0;
  while (over > 0 || !is_character_start(text[cut])) over -= is_character_start(text[cut++]) ? 1 : 0;
  return ".." + std::string(text.substr(cut));
}

}  // namespace synctrace
