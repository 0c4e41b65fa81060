// SPDX-License-Identifier: Apache-2.0
#include "render/screen_lines.h"

#include <algorithm>

#include "render/columns.h"

namespace synctrace {
namespace {

std::string_view escape_of(Tint tint) noexcept {
  switch (tint) {
    case Tint::kNone: return "";
    case Tint::kBold: return "\x1b[1m";
    case Tint::kDim: return "\x1b[2m";
    case Tint::kGreen: return "\x1b[32m";
    case Tint::kRed: return "\x1b[1;31m";
  }
  return "";
}

}  // namespace

std::string in_capitals(std::string_view text) {
  std::string capitals(text);
  std::transform(capitals.begin(), capitals.end(), capitals.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  return capitals;
}

ScreenLines::ScreenLines(const ScreenOptions& options)
    : columns_(std::clamp(options.columns, kFewestColumns, kMostColumns)), colour_(options.colour) {}

std::string ScreenLines::tinted(std::string_view text, Tint tint) const {
  if (!colour_ || tint == Tint::kNone || text.empty()) return std::string(text);
  return format_text("{}{}\x1b[0m", escape_of(tint), text);
}

void ScreenLines::add_raw(std::string text) {
  while (!text.empty() && text.back() == ' ') text.pop_back();
  lines_.push_back(std::move(text));
}

void ScreenLines::add(std::string_view text, Tint tint) {
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  lines_.push_back(tinted(text, tint));
}

void ScreenLines::wrapped(std::string_view lead, std::string_view text, Tint tint) {
  std::string before(lead);
  for (const std::string& line : wrapped_text(text, columns_ - columns_of(lead))) {
    add_raw(before + tinted(line, tint));
    before.assign(columns_of(lead), ' ');
  }
}

void ScreenLines::append(const ScreenLines& more) {
  lines_.insert(lines_.end(), more.lines_.begin(), more.lines_.end());
}

std::string ScreenLines::text() const {
  std::string text;
  for (const std::string& line : lines_) text += line + '\n';
  return text;
}

}  // namespace synctrace
