// SPDX-License-Identifier: Apache-2.0
#include "page_file.h"

#include <algorithm>

#include "result_file.h"

namespace synctrace::cli {

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
