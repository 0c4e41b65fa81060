// SPDX-License-Identifier: Apache-2.0
#include "attribution/host_places.h"

#include <algorithm>
#include <iterator>

namespace synctrace {

HostPlaces::HostPlaces(const Evidence& evidence) : evidence_(evidence), ended_by_(evidence.host.threads()) {
  for (std::uint32_t row = 0; row < evidence.trace.host_waits.size(); ++row) {
    const HostWait& wait = evidence.trace.host_waits[row];
    const HostTimeline::Index waker = evidence.host.index_of(wait.waker);
    if (waker != HostTimeline::kNoThread && number(wait.waker) != 0 && number(wait.stack) != 0) ended_by_[waker].push_back(row);
  }
}

Owner HostPlaces::of(HostTimeline::Index thread, TimeSpan span) {
  const HostTimeline::Neighbours around = evidence_.host.neighbours(thread, span);
  const auto in_python = [&](StackId stack) { return evidence_.stacks.traits(stack).python; };
  const std::vector<std::uint32_t>& ended = ended_by_[thread];
  if (!ended.empty() && !in_python(around.before) && !in_python(around.after)) {
    const std::vector<HostWait>& waits = evidence_.trace.host_waits;
    const auto after = std::upper_bound(ended.begin(), ended.end(), span.end_ns,
                                        [&](Nanoseconds t, std::uint32_t row) { return t < waits[row].span.begin_ns; });
    if (after != ended.begin()) {
      const HostWait& wait = waits[*std::prev(after)];
      if (wait.span.end_ns >= span.end_ns && in_python(wait.stack)) return {*std::prev(after), OwnerTable::kHostWait};
    }
  }
  if (last_ < stretches_.size() && stretches_[last_] == around) return {last_, OwnerTable::kStretch};
  const auto [entry, is_new] = known_.try_emplace(around, static_cast<std::uint32_t>(stretches_.size()));
  if (is_new) stretches_.push_back(around);
  last_ = entry->second;
  return {last_, OwnerTable::kStretch};
}

}  // namespace synctrace
