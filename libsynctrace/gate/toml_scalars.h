// SPDX-License-Identifier: Apache-2.0
// TOML's strings, numbers, dates: the words of the grammar, for toml.cpp alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "gate/toml.h"

namespace synctrace::toml {

constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

constexpr bool is_bare_key(char c) noexcept {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-';
}

constexpr bool is_bare_value(char c) noexcept { return is_bare_key(c) || c == '+' || c == '.' || c == ':'; }

// Fills the data of `value` from a word without quotes. False: the word is nothing.
bool read_bare_value(std::string_view word, Value& value);

// A string of any of the four kinds at the begin of `text`.
class StringReader {
 public:
  explicit StringReader(std::string_view text) : text_(text) {}

  std::string read();
  const char* error() const noexcept { return error_; }  // null: none
  std::size_t used() const noexcept { return at_; }
  std::uint32_t newlines() const noexcept { return newlines_; }

 private:
  void escape(bool many_lines, std::string& out);
  void code_point(std::size_t digits, std::string& out);
  bool skip_folded_line();

  std::string_view text_;
  std::size_t at_ = 0;
  std::uint32_t newlines_ = 0;
  const char* error_ = nullptr;
};

}  // namespace synctrace::toml
