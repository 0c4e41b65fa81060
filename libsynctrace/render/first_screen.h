// SPDX-License-Identifier: Apache-2.0
// The answer that is read in ten seconds: what is wrong, which lines to change, what to write there, what it saves. At
// most kMostScreenLines lines; all else is in the full text and on the page.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "findings/job/late_rank.h"
#include "findings/report/report.h"

namespace synctrace {

inline constexpr std::size_t kMostScreenLines = 30;
inline constexpr std::size_t kFewestColumns = 80;
inline constexpr std::size_t kMostColumns = 200;

struct ScreenOptions {
  std::size_t columns = 100;  // the terminal's; brought into kFewestColumns to kMostColumns
  bool colour = false;
};

std::string render_first_screen(const Report& report, const ScreenOptions& options);

// Several processes, a line each; `shown` is the one whose first screen follows.
std::string render_processes(std::span<const Report> reports, const Report& shown, const std::optional<LateRank>& late,
                             const ScreenOptions& options);

}  // namespace synctrace
