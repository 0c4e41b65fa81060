// SPDX-License-Identifier: Apache-2.0
// Lines of a first screen while it is written.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/format_text.h"
#include "findings/report/report.h"
#include "render/first_screen.h"

namespace synctrace {

enum class Tint : std::uint8_t { kNone, kBold, kDim, kGreen, kRed };

// "SYNC-BOUND". Only English letters change.
std::string in_capitals(std::string_view text);

inline constexpr std::size_t kPlaceColumns = 26;  // "train.py:41" before the line's text

class ScreenLines {
 public:
  explicit ScreenLines(const ScreenOptions& options);

  std::size_t columns() const noexcept { return columns_; }
  std::size_t count() const noexcept { return lines_.size(); }

  // Blanks at its end are left out.
  void add(std::string_view text, Tint tint = Tint::kNone);
  // Breaks the text between words; later lines are set in to where the text began.
  void wrapped(std::string_view lead, std::string_view text, Tint tint = Tint::kNone);
  void empty() { add(""); }

  // Appended to a line as it is: the one way to tint a part of it.
  std::string tinted(std::string_view text, Tint tint) const;
  void add_raw(std::string text);

  void clear() { lines_.clear(); }
  void append(const ScreenLines& more);
  std::string text() const;

 private:
  std::size_t columns_;
  bool colour_;
  std::vector<std::string> lines_;
};

// Whether it saves a hundredth of the time or more, and more than the recording leaves open.
bool is_worth_showing(const Report& report, const Remedy& remedy);

// The remedies of the report that fit into so many lines, and one sentence for what is left out.
void write_remedies(const Report& report, std::size_t most_lines, ScreenLines& out);

// A recording without a GPU timeline: the calls that made the host wait, and what samples found its thread at
// otherwise.
void write_waits(const Report& report, std::size_t most_lines, ScreenLines& out);

}  // namespace synctrace
