// SPDX-License-Identifier: Apache-2.0
#include "attribution/waker.h"

#include <algorithm>

#include "model/tolerances.h"

namespace synctrace {
namespace {

// Bounds the cost of a guess; processes with more threads that use CUDA are rare.
constexpr HostTimeline::Index kMostThreads = 64;

bool ran_between(const Trace& trace, const std::vector<std::uint32_t>& samples, TimeSpan span) {
  const auto after =
      std::lower_bound(samples.begin(), samples.end(), span.end_ns,
                       [&](std::uint32_t row, Nanoseconds t) { return trace.samples[row].span.begin_ns < t; });
  if (after == samples.begin()) return false;
  const Sample& last = trace.samples[*std::prev(after)];
  return last.span.end_ns >= span.begin_ns && last.state != format::Sample::State::kBlocked;
}

// When the thread stopped working, if that was a hand-over at `woken_ns`.
std::optional<Nanoseconds> stopped_at(const Evidence& evidence, HostTimeline::Index thread, Nanoseconds woken_ns) {
  const HostItem now = evidence.host.item_before(thread, woken_ns);
  if (now.first && evidence.host.samples(thread).empty()) return std::nullopt;
  if (now.owner.table == OwnerTable::kHostWait) {
    // It went to sleep a moment ago, or slept all along.
    if (woken_ns - now.span.begin_ns > kHandoverNs) return std::nullopt;
    return now.span.begin_ns;
  }
  const auto next = evidence.host.item_from(thread, woken_ns);
  const bool sleeps =
      next && next->owner.table == OwnerTable::kHostWait && next->span.begin_ns <= woken_ns + kHandoverNs;
  const bool silent = now.owner.table == OwnerTable::kNone && (!next || next->span.begin_ns > woken_ns + kHandoverNs) &&
                      !ran_between(evidence.trace, evidence.host.samples(thread), {woken_ns, woken_ns + kHandoverNs});
  if (!sleeps && !silent) return std::nullopt;
  const bool worked =
      sleeps || (now.owner.table == OwnerTable::kNone && !now.first && woken_ns - now.span.begin_ns <= kHandoverNs) ||
      ran_between(evidence.trace, evidence.host.samples(thread), {woken_ns - kHandoverNs, woken_ns});
  if (!worked) return std::nullopt;
  return woken_ns;
}

}  // namespace

std::optional<Handover> guess_waker(const Evidence& evidence, HostTimeline::Index sleeper, Nanoseconds woken_ns) {
  std::optional<Handover> found;
  const HostTimeline::Index threads = std::min(kMostThreads, evidence.host.threads());
  for (HostTimeline::Index thread = 0; thread < threads; ++thread) {
    if (thread == sleeper) continue;
    const auto time_ns = stopped_at(evidence, thread, woken_ns);
    if (!time_ns) continue;
    if (found) return std::nullopt;
    found = Handover{thread, *time_ns};
  }
  return found;
}

}  // namespace synctrace
