// SPDX-License-Identifier: Apache-2.0
#include "render/columns.h"

#include <algorithm>

namespace synctrace {
namespace {

constexpr std::size_t kDots = 2;

bool is_character_start(char c) noexcept { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

// Whether a line may end behind this text: a number stays with its unit, and with the other end of its range.
bool may_end(std::string_view text) noexcept {
  return !(text.back() >= '0' && text.back() <= '9') && !text.ends_with(" -");
}

// The last space up to `last` where a line may end, else the last one, else the first behind it.
std::size_t line_end(std::string_view text, std::size_t last, bool keeps_numbers) noexcept {
  for (std::size_t space = last; keeps_numbers && space > 0; --space) {
    if (text[space] == ' ' && may_end(text.substr(0, space))) return space;
  }
  const std::size_t space = text.rfind(' ', last);
  return space != std::string_view::npos && space != 0 ? space : text.find(' ', 1);
}

}  // namespace

std::size_t columns_of(std::string_view text) noexcept {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), is_character_start));
}

std::string fitted(std::string_view text, std::size_t columns) {
  columns = std::max(columns, kDots);
  std::size_t used = 0;
  std::size_t cut = text.size();
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!is_character_start(text[i])) continue;
    if (used == columns - kDots) cut = i;
    ++used;
  }
  return used <= columns ? std::string(text) : std::string(text.substr(0, cut)) + "..";
}

std::string fitted_tail(std::string_view text, std::size_t columns) {
  columns = std::max(columns, kDots);
  const std::size_t all = columns_of(text);
  if (all <= columns) return std::string(text);
  std::size_t over = all - (columns - kDots);
  std::size_t cut = 0;
  while (cut < text.size() && (over > 0 || !is_character_start(text[cut])))
    over -= is_character_start(text[cut++]) ? 1 : 0;
  return ".." + std::string(text.substr(cut));
}

std::string fitted_path(std::string_view path, std::size_t columns) {
  while (columns_of(path) > columns) {
    const std::size_t slash = path.find('/');
    if (slash == std::string_view::npos) break;
    path.remove_prefix(slash + 1);
  }
  return std::string(path);
}

std::vector<std::string> wrapped_text(std::string_view text, std::size_t columns, bool keeps_numbers) {
  std::vector<std::string> lines;
  while (columns_of(text) > columns) {
    std::size_t end = 0;
    for (std::size_t used = 0; end < text.size() && used <= columns; ++end)
      used += is_character_start(text[end]) ? 1 : 0;
    const std::size_t space = line_end(text, end - 1, keeps_numbers);
    if (space == std::string_view::npos) break;
    lines.emplace_back(text.substr(0, space));
    text.remove_prefix(space + 1);
  }
  lines.emplace_back(text);
  return lines;
}

}  // namespace synctrace
