// SPDX-License-Identifier: Apache-2.0
#include "page_file.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "result_file.h"

namespace synctrace::cli {

std::optional<std::string> PageFile::refusal(const std::string& path, std::span<const std::string> traces) {
  std::error_code ignored;
  const bool is_trace = std::any_of(traces.begin(), traces.end(), [&](const std::string& trace) {
    return std::filesystem::equivalent(trace, path, ignored);
  });
  if (is_trace) return path + " is one of the traces; choose another file for --html.";
  return std::nullopt;
}

void PageFile::add(const Report& report, const page::Timeline& timeline, std::size_t number) {
  options_.number = number;
  const auto place = std::find_if(sections_.begin(), sections_.end(),
                                  [&](const PageSection& section) { return section.number > number; });
  sections_.insert(place, page_section(report, timeline, options_));
}

std::optional<Error> PageFile::finish(const JobReport* job) const {
  ResultFile file(path_);
  file.write(render_page(sections_, job));
  return file.finish();
}

}  // namespace synctrace::cli
