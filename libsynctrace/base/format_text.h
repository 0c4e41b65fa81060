// SPDX-License-Identifier: Apache-2.0
// fmt::format, compiled once. fmt comes as headers alone, so what writes a value as text would otherwise be compiled
// into every file that does: three of the five seconds that such a file takes.
#pragma once

#include <string>

#include <fmt/core.h>

namespace synctrace {

void append_formatted(std::string& out, fmt::string_view format, fmt::format_args arguments);

// Format and arguments as for fmt::format, checked at compile time. Throws std::bad_alloc, and
// fmt::format_error for a width or precision among the arguments that cannot be one.
template <class... Args>
void append_text(std::string& out, fmt::format_string<Args...> format, Args&&... args) {
  append_formatted(out, format, fmt::make_format_args(args...));
}

template <class... Args>
std::string format_text(fmt::format_string<Args...> format, Args&&... args) {
  std::string text;
  append_formatted(text, format, fmt::make_format_args(args...));
  return text;
}

}  // namespace synctrace
