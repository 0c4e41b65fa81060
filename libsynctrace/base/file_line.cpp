// SPDX-License-Identifier: Apache-2.0
#include "base/file_line.h"

#include <charconv>

namespace synctrace {

std::optional<FileLine> parse_file_line(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  const std::string_view digits = text.substr(colon + 1);
  FileLine result{std::string(text.substr(0, colon)), 0};
  const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), result.line);
  if (failed != std::errc{} || end != digits.data() + digits.size() || result.line == 0) return std::nullopt;
  return result;
}

}  // namespace synctrace
