// SPDX-License-Identifier: Apache-2.0
// A text report while it is written: lines of at most so many columns, headings, and the rows' places in the source.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/format_text.h"
#include "findings/report/report.h"
#include "render/first_screen.h"
#include "render/render_text.h"

namespace synctrace {

class TextPage {
 public:
  // Both must outlive the page.
  TextPage(const Report& report, const TextOptions& options) : report_(report), options_(options) {}

  std::size_t columns() const noexcept { return std::clamp(options_.columns, kFewestTextColumns, kMostColumns); }

  // Blanks at its end are left out.
  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    append_text(text_, format, std::forward<Args>(args)...);
    while (!text_.empty() && text_.back() == ' ') text_.pop_back();
    text_ += '\n';
  }

  void title(std::string_view text);
  void field(std::string_view name, std::string_view value);  // nothing for an empty value
  // Breaks `text` between words, later lines set in under the first.
  void wrapped(std::string_view lead, std::string_view text);

  // The place of a row and the text of its line, to stand above the row. False, and nothing, where it is not known.
  bool place_line(std::string_view id, const SourceLine& where);
  // The same with the row's rule. The row begins with what it gives back: nothing, or the rule where no line is known.
  std::string_view place_line(const Rule* rule, const SourceLine& where);
  // Where asked for: all frames but the interpreter's own, innermost first.
  void stack_lines(const SourceLine& where);

  // Calls `function` for the first rows, and says how many more there are.
  template <class Row, class Function>
  void first_rows(const std::vector<Row>& rows, const Function& function) {
    constexpr std::size_t kRows = 10;
    for (std::size_t i = 0; i < std::min(kRows, rows.size()); ++i) function(rows[i]);
    if (rows.size() > kRows) line("        and {} more", rows.size() - kRows);
  }

  std::string take() { return std::move(text_); }

 private:
  const Report& report_;
  const TextOptions& options_;
  std::string text_;
};

}  // namespace synctrace
