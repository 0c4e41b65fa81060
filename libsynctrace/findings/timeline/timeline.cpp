// SPDX-License-Identifier: Apache-2.0
#include "findings/timeline/timeline.h"

#include "findings/timeline/wanted_stretches.h"

namespace synctrace::page {
namespace {

TraceClock placed(TraceClock clock, const RankDrawing* rank) {
  if (rank != nullptr && rank->clock.known) clock.on_job = rank->clock;
  return clock;
}

std::vector<TimeSpan> with(const RankDrawing* rank, std::vector<TimeSpan> wanted) {
  if (rank != nullptr && rank->wanted.length_ns() > 0) wanted.insert(wanted.begin(), rank->wanted);
  return wanted;
}

}  // namespace

Timeline::Timeline(const Trace& trace, const Attribution& attribution, const Report& report, const RankDrawing* rank)
    : trace_(trace),
      report_(report),
      rank_(rank),
      occurrences_(find_occurrences(trace, attribution, report)),
      opening_(typical_steps(attribution, report)),
      clock_(placed(clock_of(trace), rank)),
      slices_(trace, attribution, report, rank),
      builder_({trace.first_ns, trace.last_ns}, slices_.lanes().size(),
               with(rank, wanted_stretches(attribution, report, occurrences_)),
               [this](const auto& visit) { slices_.for_each(visit); }) {
  for (const DeviceReport& device : report.devices)
    stacks_.push_back(idle_by_stack(trace, attribution, report, device));
}

std::string Timeline::text_of(SliceName name) const {
  return kind_of(name) >= SliceKind::kRankWait ? rank_->names[number_of(name)].operation
                                               : slice_text(trace_, report_, name);
}

std::string_view Timeline::waits_for(SliceName name) const {
  return kind_of(name) == SliceKind::kRankWait ? rank_->names[number_of(name)].waits_for : std::string_view();
}

}  // namespace synctrace::page
