// SPDX-License-Identifier: Apache-2.0
#include "render/places.h"

#include <algorithm>

#include "base/format_text.h"
#include "base/name_text.h"
#include "render/columns.h"

namespace synctrace {
namespace {

constexpr std::size_t kFunctionColumns = 30;
constexpr std::size_t kLeastSourceColumns = 24;  // beside a helper

// ":88"; empty: the line is not known.
std::string line_words(const SourceLine& where) { return where.line == 0 ? "" : ":" + std::to_string(where.line); }

}  // namespace

std::string through_words(const SourceLine& where) {
  const HelperLine& helper = where.through;
  if (!helper.known()) return "";
  const std::string file = helper.file == where.file ? "" : helper.file.substr(helper.file.rfind('/') + 1);
  return format_text(" (through {}, {}:{})", short_function_text(helper.function, kFunctionColumns), file, helper.line);
}

std::string source_words(const SourceLine& where, std::size_t columns) {
  const std::string through = through_words(where);
  const bool has_room = !through.empty() && columns_of(through) + kLeastSourceColumns <= columns;
  return has_room ? fitted(where.source, columns - columns_of(through)) + through : fitted(where.source, columns);
}

std::string place_text(const Report& report, const SourceLine& where) {
  if (where.file.empty()) return where.function;
  return path_text(where.file, report.folder) + line_words(where) + through_words(where);
}

std::string place_words(const Report& report, const SourceLine& where, std::size_t columns) {
  const std::string function = where.function.empty() ? "?" : fitted(function_text(where.function), kFunctionColumns);
  if (where.file.empty()) return fitted("in " + function, columns);
  const std::string path = path_text(where.file, report.folder);
  const std::string tail = line_words(where) + " in " + function;
  std::string through = through_words(where);
  const std::size_t name_columns = columns_of(std::string_view(path).substr(path.rfind('/') + 1));
  if (name_columns + columns_of(tail) + columns_of(through) > columns) through.clear();
  return fitted_tail(path, columns - columns_of(tail) - columns_of(through)) + tail + through;
}

std::string job_place(const SourceLine& where) {
  if (where.file.empty()) return where.function;
  return where.file.substr(where.file.rfind('/') + 1) + line_words(where) +
         (where.function.empty() ? "" : " in " + where.function) + through_words(where);
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
    return where.function.empty() ? "in no known line"
                                  : fitted("in " + family_text(where.function), std::max(columns, kFunctionColumns));
  const std::string line = line_words(where);
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
