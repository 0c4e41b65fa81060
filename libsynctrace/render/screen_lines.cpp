// SPDX-License-Identifier: Apache-2.0
#include "render/screen_lines.h"

#include <algorithm>

#include "base/name_text.h"
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

ScreenPlaces::ScreenPlaces(const Report& report) : working_folder_(report.folder) {
  // The outermost frame of the program's own: of a script, its first line that runs.
  const auto look = [&](const SourceLine& where) {
    for (auto frame = where.stack.rbegin(); frame != where.stack.rend() && script_folder_.empty(); ++frame) {
      const std::string& file = frame->frame.file;
      const bool is_script = frame->frame.function == "<module>" || frame->frame.function == "main";
      if (frame->hidden || !is_script || file.find('/') == std::string::npos) continue;
      script_folder_ = file.substr(0, file.rfind('/'));
    }
  };
  for (const Remedy& remedy : report.savings.remedies) {
    for (const ShownFix& fix : remedy.fixes) look(fix.where);
  }
  for (const CallSite& site : report.waits) look(site.where);
}

std::string ScreenPlaces::file(std::string_view path) const {
  const std::string inside = path_text(path, script_folder_);
  return inside.size() < path.size() ? inside : path_text(path, working_folder_);
}

std::string ScreenPlaces::of(const SourceLine& where, std::size_t columns) const {
  if (where.file.empty())
    return where.function.empty() ? "in no known line" : fitted("in " + family_text(where.function), columns);
  const std::string line = where.line == 0 ? std::string() : format_text(":{}", where.line);
  return fitted_path(file(where.file), columns - columns_of(line)) + line;
}

std::string ScreenPlaces::of(const ShownFix& fix, std::size_t columns) const {
  if (!fix.where.known() && !fix.call.empty()) return fitted(fix.call, columns);
  const std::string until = fix.until_line == 0 ? std::string() : format_text(" to :{}", fix.until_line);
  return of(fix.where, columns - columns_of(until)) + until;
}

std::string ScreenPlaces::moved_to(std::string_view place) const {
  const std::string folder = path_text(script_folder_, working_folder_) + "/";
  if (place.starts_with(folder)) place.remove_prefix(folder.size());
  return family_text(place);
}

}  // namespace synctrace
