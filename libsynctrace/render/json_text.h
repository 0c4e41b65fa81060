// SPDX-License-Identifier: Apache-2.0
// JSON as text, written member by member: a tree of all of it would take twelve times the memory of the text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "base/json.h"

namespace synctrace {

// Indented by two spaces, as a dump(2) of the whole would be.
class JsonText {
 public:
  void begin(char bracket) {
    text_ += bracket;
    ++depth_;
    is_first_ = true;
  }
  void end(char bracket) {
    --depth_;
    if (!is_first_) line();
    is_first_ = false;
    text_ += bracket;
  }

  // The place of the next element, or of the value of the next member.
  void element() {
    if (!is_first_) text_ += ',';
    is_first_ = false;
    line();
  }
  void key(std::string_view name) {
    element();
    text_ += json_quoted(name) + ": ";
  }

  void value(const Json& value) { value.append_to(text_, 2, depth_); }
  void member(std::string_view name, const Json& of) {
    key(name);
    value(of);
  }
  template <class Rows, class Function>
  void array(std::string_view name, const Rows& rows, Function&& function) {
    key(name);
    begin('[');
    for (const auto& row : rows) {
      element();
      value(function(row));
    }
    end(']');
  }

  std::string take() { return std::move(text_); }

 private:
  void line() {
    text_ += '\n';
    text_.append(2 * depth_, ' ');
  }

  std::string text_;
  std::size_t depth_ = 0;
  bool is_first_ = false;
};

}  // namespace synctrace
