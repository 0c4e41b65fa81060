// SPDX-License-Identifier: Apache-2.0
#include "gate/toml_scalars.h"

#include <charconv>
#include <limits>
#include <optional>
#include <system_error>

namespace synctrace::toml {
namespace {

// Digits of a base, single underscores between them. Leading zeros only where a prefix says the base.
std::optional<std::int64_t> whole_number(std::string_view word) {
  std::string digits;
  int base = 10;
  const bool has_sign = word.starts_with('+') || word.starts_with('-');
  if (word.starts_with('-')) digits = "-";
  if (has_sign) word.remove_prefix(1);
  if (!has_sign && word.size() > 2 && word[0] == '0') {
    base = word[1] == 'x' ? 16 : word[1] == 'o' ? 8 : word[1] == 'b' ? 2 : 10;
    if (base != 10) word.remove_prefix(2);
  }
  if (base == 10 && word.size() > 1 && word[0] == '0') return std::nullopt;
  if (word.empty() || word.front() == '_' || word.back() == '_' || word.find("__") != std::string_view::npos) return std::nullopt;
  for (const char c : word) {
    if (c != '_') digits += c;
  }
  if (word.front() == '+' || word.front() == '-') return std::nullopt;
  std::int64_t number = 0;
  const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), number, base);
  if (failed != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  return number;
}

std::optional<double> real_number(std::string_view word) {
  const std::string_view bare = word.substr(word.starts_with('+') || word.starts_with('-') ? 1 : 0);
  const double sign = word.starts_with('-') ? -1 : 1;
  if (bare == "inf") return sign * std::numeric_limits<double>::infinity();
  if (bare == "nan") return std::numeric_limits<double>::quiet_NaN();
  std::string digits;
  for (std::size_t i = 0; i < bare.size(); ++i) {
    const char c = bare[i];
    const bool between = i > 0 && i + 1 < bare.size() && is_digit(bare[i - 1]) && is_digit(bare[i + 1]);
    if ((c == '_' || c == '.') && !between) return std::nullopt;
    if (!is_digit(c) && c != '_' && c != '.' && c != 'e' && c != 'E' && c != '+' && c != '-') return std::nullopt;
    if (c != '_') digits += c;
  }
  if (digits.empty() || !is_digit(digits.front()) || digits.find_first_of(".eE") == std::string::npos) return std::nullopt;
  if (digits.size() > 1 && digits[0] == '0' && is_digit(digits[1])) return std::nullopt;
  double number = 0;
  const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (failed != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  return sign * number;
}

// Two or four digits at a place.
int digits_at(std::string_view word, std::size_t at, std::size_t count) {
  int number = 0;
  for (std::size_t i = at; i < at + count; ++i) {
    if (i >= word.size() || !is_digit(word[i])) return -1;
    number = number * 10 + (word[i] - '0');
  }
  return number;
}

int days_of(int year, int month) {
  constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  return month == 2 && is_leap ? 29 : kDays[month - 1];
}

bool is_time(std::string_view word) {
  const int hour = digits_at(word, 0, 2);
  const int minute = digits_at(word, 3, 2);
  return word.size() >= 5 && word[2] == ':' && hour >= 0 && hour < 24 && minute >= 0 && minute < 60;
}

std::optional<Date> date(std::string_view word) {
  if (word.size() < 10 || word[4] != '-' || word[7] != '-') return std::nullopt;
  const Date result{digits_at(word, 0, 4), digits_at(word, 5, 2), digits_at(word, 8, 2)};
  if (result.year < 0 || result.month < 1 || result.month > 12 || result.day < 1) return std::nullopt;
  if (result.day > days_of(result.year, result.month)) return std::nullopt;
  if (word.size() == 10) return result;
  const bool separated = word[10] == 'T' || word[10] == 't' || word[10] == ' ';
  return separated && is_time(word.substr(11)) ? std::optional(result) : std::nullopt;
}

void append_utf8(std::uint32_t code, std::string& out) {
  const auto put = [&](std::uint32_t byte) { out += static_cast<char>(byte); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xc0 | code >> 6);
    put(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    put(0xe0 | code >> 12);
    put(0x80 | (code >> 6 & 0x3f));
    put(0x80 | (code & 0x3f));
  } else {
    put(0xf0 | code >> 18);
    put(0x80 | (code >> 12 & 0x3f));
    put(0x80 | (code >> 6 & 0x3f));
    put(0x80 | (code & 0x3f));
  }
}

}  // namespace

bool read_bare_value(std::string_view word, Value& value) {
  if (word == "true" || word == "false") {
    value.data = word == "true";
  } else if (const auto whole = whole_number(word)) {
    value.data = *whole;
  } else if (const auto day = date(word)) {
    value.data = *day;
  } else if (is_time(word)) {
    value.data = Time{};
  } else if (const auto real = real_number(word)) {
    value.data = *real;
  } else {
    return false;
  }
  return true;
}

void StringReader::code_point(std::size_t digits, std::string& out) {
  std::uint32_t code = 0;
  const std::string_view hex = text_.substr(at_, digits);
  const auto [end, failed] = std::from_chars(hex.data(), hex.data() + hex.size(), code, 16);
  const bool whole = hex.size() == digits && failed == std::errc{} && end == hex.data() + hex.size();
  if (!whole || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) {
    error_ = "no such character in a string";
    return;
  }
  at_ += digits;
  append_utf8(code, out);
}

// A backslash at the end of a line swallows the white space up to the next text.
bool StringReader::skip_folded_line() {
  std::size_t end = at_;
  while (end < text_.size() && (text_[end] == ' ' || text_[end] == '\t' || text_[end] == '\r')) ++end;
  if (end >= text_.size() || text_[end] != '\n') return false;
  for (; end < text_.size() && (text_[end] == ' ' || text_[end] == '\t' || text_[end] == '\r' || text_[end] == '\n'); ++end) {
    if (text_[end] == '\n') ++newlines_;
  }
  at_ = end;
  return true;
}

void StringReader::escape(bool many_lines, std::string& out) {
  if (many_lines && skip_folded_line()) return;
  constexpr std::string_view kLetters = "btnfr\"\\e";
  constexpr std::string_view kMeanings = "\b\t\n\f\r\"\\\x1b";
  const char letter = at_ < text_.size() ? text_[at_] : '\0';
  ++at_;
  if (letter == 'u') return code_point(4, out);
  if (letter == 'U') return code_point(8, out);
  const std::size_t which = kLetters.find(letter);
  if (letter == '\0' || which == std::string_view::npos)
    error_ = "no such escape in a string";
  else
    out += kMeanings[which];
}

std::string StringReader::read() {
  const char quote = text_.front();
  const bool is_literal = quote == '\'';
  const bool many_lines = text_.size() > 2 && text_[1] == quote && text_[2] == quote;
  at_ = many_lines ? 3 : 1;
  if (many_lines && text_.substr(at_).starts_with("\r\n")) ++at_;
  if (many_lines && text_.substr(at_).starts_with('\n')) ++at_, ++newlines_;
  std::string out;
  while (error_ == nullptr) {
    if (at_ >= text_.size() || (text_[at_] == '\n' && !many_lines)) {
      error_ = "a string without its closing quote";
      break;
    }
    const char c = text_[at_++];
    if (c == '\\' && !is_literal) {
      escape(many_lines, out);
    } else if (c != quote) {
      if (c == '\n') ++newlines_;
      out += c;
    } else if (!many_lines) {
      return out;
    } else if (text_.substr(at_).size() >= 2 && text_[at_] == quote && text_[at_ + 1] == quote) {
      at_ += 2;
      // Up to two quotes may stand before the closing three.
      for (int i = 0; i < 2 && at_ < text_.size() && text_[at_] == quote; ++i, ++at_) out += quote;
      return out;
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace synctrace::toml
