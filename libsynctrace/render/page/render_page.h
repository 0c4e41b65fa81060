// SPDX-License-Identifier: Apache-2.0
// Reports as one HTML file that needs nothing else: no network, no server, and no script but its own. What it concludes
// is plain HTML; the script adds the timeline. Its size is bounded whatever the trace holds, and it says what was left
// out.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "findings/report/job_report.h"
#include "findings/report/report.h"
#include "timeline/page/timeline.h"

namespace synctrace {

inline constexpr std::size_t kDefaultPageBytes = std::size_t{5} << 20;
inline constexpr std::size_t kFewestPageBytes = std::size_t{300}
                                                << 10;  // less would leave no room for what must be said

struct PageOptions {
  std::size_t most_bytes = kDefaultPageBytes;
  std::size_t processes = 1;  // that share the page
  std::size_t number = 0;     // the section's place among them; in a job the row of its rank
  const JobReport* job = nullptr;
};

// How many ranks of a job have a section and a timeline on a page of that size.
std::size_t most_ranks_of_page(std::size_t most_bytes) noexcept;

// What the page says of one process. Owns its texts, so that traces can be loaded one after the other.
struct PageSection {
  std::size_t number = 0;
  std::string title;
  std::string rank;
  std::string recorded;  // on which driver, and when
  std::string verdict;
  Nanoseconds lacked_ns = 0;  // from VerdictLine
  Nanoseconds of_ns = 0;
  Nanoseconds step_ns = 0;  // 0: no steps
  std::string answer;       // what is wrong and what to change, above the timeline
  std::string rest;         // below it
  std::string payload;      // the timeline's; empty: none
  page::TraceClock clock;
  std::map<std::size_t, std::string> moments;  // for a job: by row of its cause, a link to where that costs something
};

// What of that needs the trace. Owns its texts too: what only a job tells about a rank may come later.
struct PageDrawing {
  page::TraceClock clock;
  std::vector<page::DeviceOccurrences> occurrences;
  std::vector<page::StackTree> stacks;
  TimeSpan typical;  // RankLane::typical
  std::string payload;
};

PageDrawing page_drawing(const Report& report, const page::Timeline& timeline, const PageOptions& options);

// `drawing` is of the same report, which may have got the facts of its job since.
PageSection page_section(const Report& report, PageDrawing drawing, const PageOptions& options);

// In the page of a job, what is said of all ranks stands first, and one timeline shows the ranks that have a section.
std::string render_page(std::span<const PageSection> sections, const JobReport* job = nullptr);

}  // namespace synctrace
