// SPDX-License-Identifier: Apache-2.0
#include "attribution/gpu_sleep.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "attribution/sync_test.h"
#include "model/outstanding.h"

namespace synctrace {
namespace {

// A thread that is woken takes longer to return than one that the driver lets go.
constexpr Nanoseconds kWakeUpNs = 50'000;

// The progress of the GPU at the end of every row.
template <class Rows>
std::vector<Progress> progress_at_ends(const Trace& trace, const Correlation& correlation, const Rows& rows) {
  std::vector<std::uint32_t> order(rows.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(),
            [&](std::uint32_t a, std::uint32_t b) { return rows[a].span.end_ns < rows[b].span.end_ns; });
  std::vector<Nanoseconds> times;
  times.reserve(order.size());
  for (const std::uint32_t row : order) times.push_back(rows[row].span.end_ns);
  const std::vector<Progress> sorted = find_progress(trace, correlation, times);
  std::vector<Progress> result(rows.size());
  for (std::size_t i = 0; i < order.size(); ++i) result[order[i]] = sorted[i];
  return result;
}

GpuSleep judged(TimeSpan span, const Progress& progress, Nanoseconds latest_return_ns) {
  const bool met = progress.end_before_ns > span.begin_ns + kOutstandingMarginNs;
  if (!met || span.end_ns - progress.end_before_ns > latest_return_ns) return {};
  return {true, progress.device, std::min(progress.end_before_ns, span.end_ns)};
}

struct Votes {
  std::uint64_t met_work = 0;
  std::uint64_t returned_with_work = 0;
};

}  // namespace

GpuSleeps find_gpu_sleeps(const Trace& trace, const Correlation& correlation, const HostTimeline& host,
                          const Calibration& calibration) {
  const Nanoseconds latest_ns = calibration.return_latency.p90_ns + kOutstandingMarginNs;
  GpuSleeps sleeps;
  sleeps.host_waits.resize(trace.host_waits.size());
  sleeps.polls.resize(trace.polls.size());
  if (!trace.has_timeline()) return sleeps;

  const std::vector<Progress> at_polls = progress_at_ends(trace, correlation, trace.polls);
  for (std::size_t row = 0; row < trace.polls.size(); ++row) {
    if (trace.polls[row].not_ready_count < kFewestQueriesOfAWait) continue;
    sleeps.polls[row] = judged(trace.polls[row].span, at_polls[row], latest_ns);
  }

  const std::vector<Progress> at_waits = progress_at_ends(trace, correlation, trace.host_waits);
  std::map<std::tuple<HostCall, StackId, ThreadId>, Votes> votes;
  const auto place_of = [](const HostWait& wait) { return std::tuple(wait.call, wait.stack, wait.thread); };
  for (std::size_t row = 0; row < trace.host_waits.size(); ++row) {
    const HostWait& wait = trace.host_waits[row];
    Votes& place = votes[place_of(wait)];
    if (at_waits[row].last_end_ns > wait.span.begin_ns + kOutstandingMarginNs) ++place.met_work;
    const bool woken_by_worker = number(wait.waker) != 0 && host.index_of(wait.waker) != HostTimeline::kNoThread;
    if (woken_by_worker || (wait.flags & format::HostWait::kTimedOut) != 0) continue;
    sleeps.host_waits[row] = judged(wait.span, at_waits[row], latest_ns + kWakeUpNs);
    if (sleeps.host_waits[row].waited) ++place.returned_with_work;
  }
  for (std::size_t row = 0; row < trace.host_waits.size(); ++row) {
    const Votes& place = votes[place_of(trace.host_waits[row])];
    const bool proven = place.returned_with_work * 5 >= place.met_work * 4;
    if (!proven) sleeps.host_waits[row] = {};
  }
  return sleeps;
}

}  // namespace synctrace
