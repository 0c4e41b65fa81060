// SPDX-License-Identifier: Apache-2.0
// The sites of one recording by what they are known by elsewhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "findings/history/run_history.h"
#include "findings/report/rules.h"
#include "findings/report/source_line.h"

namespace synctrace {

class SiteBook {
 public:
  // Both are arguments of repository_path().
  SiteBook(std::string root, std::string working_folder)
      : root_(std::move(root)), working_folder_(std::move(working_folder)) {}

  // The row of a place with a rule, or else a name; `call` tells places without a line apart.
  std::uint32_t row_of(const Rule* rule, std::string_view name, const SourceLine& where, std::string_view call);

  HistorySite& operator[](std::uint32_t row) { return sites_[row]; }

  // All of them, by row, with their final fingerprints. Once, at the end.
  std::vector<HistorySite> take();

 private:
  using Key = std::tuple<std::string, std::string, std::uint32_t, std::string, std::string>;

  std::string root_;
  std::string working_folder_;
  std::vector<HistorySite> sites_;
  std::map<Key, std::uint32_t> rows_;
};

}  // namespace synctrace
