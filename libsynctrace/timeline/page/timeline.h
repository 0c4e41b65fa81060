// SPDX-License-Identifier: Apache-2.0
// What the page draws of one process: when each cause cost something, idle time by stack, and all slices of the
// timeline in a bounded number of items. Made once; how many items there is room for may be asked again and again.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "findings/findings.h"
#include "findings/report/report.h"
#include "model/rank_lane.h"
#include "model/trace.h"
#include "timeline/page/idle_occurrences.h"
#include "timeline/page/idle_stacks.h"
#include "timeline/page/timeline_detail.h"
#include "timeline/page/timeline_slices.h"
#include "timeline/page/trace_clock.h"

namespace synctrace::page {

class Timeline {
 public:
  // `attribution` with its parts, `report` made of both; `rank`: where it is one of a job, and a stretch worth every
  // slice, as other ranks show it; may be empty. All must outlive the object.
  Timeline(const Trace& trace, const Attribution& attribution, const Report& report, const RankLane* rank = nullptr,
           TimeSpan wanted = {});
  Timeline(const Findings& findings, const Report& report, const RankLane* rank = nullptr, TimeSpan wanted = {})
      : Timeline(findings.trace(), findings.attribution(), report, rank, wanted) {}
  Timeline(const Timeline&) = delete;
  Timeline& operator=(const Timeline&) = delete;

  const std::vector<DeviceOccurrences>& occurrences() const noexcept {
    return occurrences_;
  }                                                                          // one for each of the devices
  const std::vector<StackTree>& stacks() const noexcept { return stacks_; }  // likewise
  const std::vector<Lane>& lanes() const noexcept { return slices_.lanes(); }
  // What is looked at first: a few typical steps, on the trace's clock. Empty: there are none.
  TimeSpan opening() const noexcept { return opening_; }
  const TraceClock& clock() const noexcept { return clock_; }
  std::size_t lanes_left_out() const noexcept { return slices_.lanes_left_out(); }

  // Goes through all slices. About `most_items` items, as DetailBuilder::build says.
  TimelineDetail detail(std::size_t most_items) const { return builder_.build(most_items); }

  // Text of the trace, not made safe for HTML.
  std::string text_of(SliceName name) const;
  // The label of the rank that a slice of kRankWait waits for; empty: not known.
  std::string waits_for(SliceName name) const;
  const RankLane* rank() const noexcept { return rank_; }  // null: of no job

 private:
  const Trace& trace_;
  const Report& report_;
  const RankLane* rank_;
  std::vector<DeviceOccurrences> occurrences_;
  std::vector<StackTree> stacks_;
  TimeSpan opening_;
  TraceClock clock_;
  TimelineSlices slices_;
  DetailBuilder builder_;
};

}  // namespace synctrace::page
