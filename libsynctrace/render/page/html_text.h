// SPDX-License-Identifier: Apache-2.0
// HTML while it is written. Every text that is put in is escaped and bounded, unless it is marked as markup: a name
// that the program under test chose can neither end an element nor change the direction of the line.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/format_text.h"

namespace synctrace::page {

inline constexpr std::size_t kTextColumns = 240;

// `text` for the inside of an element or a quoted attribute: cut to so many columns, what changes directions made
// visible.
std::string html_text(std::string_view text, std::size_t columns = kTextColumns);

// HTML already.
struct Markup {
  std::string text;
};

inline std::string printed(const Markup& markup) { return markup.text; }
inline std::string printed(std::string_view text) { return html_text(text); }
inline std::string printed(const std::string& text) { return html_text(text); }
inline std::string printed(const char* text) { return html_text(text); }
template <class Number>
requires std::is_arithmetic_v<Number> Number printed(Number number) { return number; }

template <class Value>
using Printed = decltype(printed(std::declval<const Value&>()));

class HtmlOut {
 public:
  template <class... Args>
  void add(fmt::format_string<Printed<Args>...> format, const Args&... args) {
    append_text(text_, format, printed(args)...);
  }
  void add_markup(std::string_view markup) { text_ += markup; }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

}  // namespace synctrace::page
