// SPDX-License-Identifier: Apache-2.0
// The page of `report --html`, while its traces are loaded one after the other.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "render/page/render_page.h"

namespace synctrace::cli {

inline constexpr std::size_t kMostPageBytes = std::size_t{500} << 20;  // what a browser still opens

class PageFile {
 public:
  PageFile(std::string path, const PageOptions& options) : path_(std::move(path)), options_(options) {}

  // `number` must be unique. For a rank of a job it is the rank's row.
  void draw(const Report& report, const page::Timeline& timeline, std::size_t number);
  // Completes what was drawn, of the same report, in the order of the numbers; nothing where nothing was drawn.
  void add(const Report& report, std::size_t number);

  std::size_t sections() const noexcept { return sections_.size(); }

  // Writes it, of a job with what is said of all ranks; the error, if there was one.
  std::optional<Error> finish(const JobReport* job = nullptr) const;

 private:
  std::string path_;  // "-": stdout
  PageOptions options_;
  std::map<std::size_t, PageDrawing> drawings_;  // by number: without a section yet
  std::vector<PageSection> sections_;            // by number
};

}  // namespace synctrace::cli
