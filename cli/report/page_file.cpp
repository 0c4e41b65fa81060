// SPDX-License-Identifier: Apache-2.0
#include "report/page_file.h"

#include "files/result_file.h"

namespace synctrace::cli {

void PageFile::draw(const Report& report, const page::Timeline& timeline, std::size_t number) {
  options_.number = number;
  drawings_.insert_or_assign(number, page_drawing(report, timeline, options_));
}

void PageFile::add(const Report& report, std::size_t number) {
  auto drawing = drawings_.extract(number);
  if (drawing.empty()) return;
  options_.number = number;
  sections_.push_back(page_section(report, std::move(drawing.mapped()), options_));
}

std::optional<Error> PageFile::finish(const JobReport* job) const {
  ResultFile file(path_);
  file.write(render_page(sections_, job));
  return file.finish();
}

}  // namespace synctrace::cli
