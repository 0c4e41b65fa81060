// SPDX-License-Identifier: Apache-2.0
#include "timeline/page/timeline.h"

#include "timeline/page/wanted_stretches.h"

namespace synctrace::page {
namespace {

TraceClock placed(TraceClock clock, const RankLane* rank) {
  if (rank != nullptr && rank->clock.known) clock.on_job = rank->clock;
  return clock;
}

std::vector<TimeSpan> with(TimeSpan first, std::vector<TimeSpan> wanted) {
  if (first.length_ns() > 0) wanted.insert(wanted.begin(), first);
  return wanted;
}

}  // namespace

Timeline::Timeline(const Trace& trace, const Attribution& attribution, const Report& report, const RankLane* rank,
                   TimeSpan wanted)
    : trace_(trace),
      report_(report),
      rank_(rank),
      occurrences_(find_occurrences(trace, attribution, report)),
      opening_(typical_steps(attribution, report)),
      clock_(placed(clock_of(trace), rank)),
      slices_(trace, attribution, report, rank),
      builder_({trace.first_ns, trace.last_ns}, slices_.lanes().size(),
               with(wanted, wanted_stretches(attribution, report, occurrences_)),
               [this](const auto& visit) { slices_.for_each(visit); }) {
  for (const DeviceReport& device : report.devices)
    stacks_.push_back(idle_by_stack(trace, attribution, report, device));
}

std::string Timeline::text_of(SliceName name) const { return slice_words(trace_, report_, rank_, name); }

std::string Timeline::waits_for(SliceName name) const {
  const auto label = rank_->labels.find(static_cast<std::uint32_t>(number_of(name)));
  return label == rank_->labels.end() ? std::string() : label->second;
}

}  // namespace synctrace::page
