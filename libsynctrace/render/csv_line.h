// SPDX-License-Identifier: Apache-2.0
// A line of comma-separated values (RFC 4180) while it is written.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace synctrace {

// Spreadsheets take a cell that begins so for a formula, and run it.
inline constexpr std::string_view kFormulaBegins = "=+-@\t\r";

class CsvLine {
 public:
  explicit CsvLine(std::string& out) : out_(out) {}
  ~CsvLine() { out_ += "\r\n"; }
  CsvLine(const CsvLine&) = delete;
  CsvLine& operator=(const CsvLine&) = delete;

  CsvLine& text(std::string_view text) {
    separate();
    const bool formula = !text.empty() && kFormulaBegins.find(text.front()) != std::string_view::npos;
    if (!formula && text.find_first_of(",\"\r\n") == std::string_view::npos) return out_ += text, *this;
    out_ += '"';
    if (formula) out_ += '\'';
    for (const char c : text) out_.append(c == '"' ? 2 : 1, c);
    out_ += '"';
    return *this;
  }
  CsvLine& number(std::int64_t value) {
    separate();
    out_ += std::to_string(value);
    return *this;
  }
  CsvLine& nothing() {
    separate();
    return *this;
  }
  CsvLine& line(std::uint32_t value) { return value == 0 ? nothing() : number(value); }

 private:
  void separate() {
    if (!first_) out_ += ',';
    first_ = false;
  }
  std::string& out_;
  bool first_ = true;
};

}  // namespace synctrace
