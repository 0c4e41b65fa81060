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

HostPlaces::Told HostPlaces::told(StackId stack) const {
  const StackTraits traits = evidence_.stacks.traits(stack);
  if (traits.user) return Told::kUserCode;
  return traits.python ? Told::kPython : Told::kNot;
}

std::optional<Owner> HostPlaces::waiting_for(HostTimeline::Index thread, TimeSpan span, Told own) const {
  const std::vector<std::uint32_t>& ended = ended_by_[thread];
  if (ended.empty() || own == Told::kUserCode) return std::nullopt;
  const std::vector<HostWait>& waits = evidence_.trace.host_waits;
  const auto after = std::upper_bound(ended.begin(), ended.end(), span.end_ns,
                                      [&](Nanoseconds t, std::uint32_t row) { return t < waits[row].span.begin_ns; });
  if (after == ended.begin()) return std::nullopt;
  const HostWait& wait = waits[*std::prev(after)];
  if (wait.span.end_ns < span.end_ns || told(wait.stack) <= own) return std::nullopt;
  return Owner{*std::prev(after), OwnerTable::kHostWait};
}

Owner HostPlaces::of(HostTimeline::Index thread, TimeSpan span, Owner owner) const {
  const bool slept = owner.table == OwnerTable::kHostWait;
  const Trace& trace = evidence_.trace;
  const StackId stack = slept ? trace.host_waits[owner.row].stack : trace.samples[owner.row].stack;
  return waiting_for(thread, span, told(stack)).value_or(owner);
}

Owner HostPlaces::of(HostTimeline::Index thread, TimeSpan span) {
  const HostTimeline::Neighbours around = evidence_.host.neighbours(thread, span);
  if (!ended_by_[thread].empty()) {
    const auto waiting = waiting_for(thread, span, std::max(told(around.before), told(around.after)));
    if (waiting) return *waiting;
  }
  if (last_ < stretches_.size() && stretches_[last_] == around) return {last_, OwnerTable::kStretch};
  const auto [entry, is_new] = known_.try_emplace(around, static_cast<std::uint32_t>(stretches_.size()));
  if (is_new) stretches_.push_back(around);
  last_ = entry->second;
  return {last_, OwnerTable::kStretch};
}

}  // namespace synctrace
