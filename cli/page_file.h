// SPDX-License-Identifier: Apache-2.0
// The page of `report --html`, while its traces are loaded one after the other.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "render/page/render_page.h"

namespace synctrace::cli {

inline constexpr std::size_t kMostPageBytes = std::size_t{500} << 20;  // what a browser still opens

class PageFile {
 public:
  PageFile(std::string path, const PageOptions& options) : path_(std::move(path)), options_(options) {}

  void add(const Report& report, const page::Timeline& timeline) { add(report, timeline, sections_.size()); }
  // `number`: unique; of a job that of the rank. Sections stand in their order.
  void add(const Report& report, const page::Timeline& timeline, std::size_t number);
  // Writes it, of a job with what is said of all ranks; the error, if there was one.
  std::optional<Error> finish(const JobReport* job = nullptr) const;

 private:
  std::string path_;  // "-": stdout
  PageOptions options_;
  std::vector<PageSection> sections_;  // by number
};

}  // namespace synctrace::cli
