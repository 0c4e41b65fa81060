// SPDX-License-Identifier: Apache-2.0
#include "attribution/gpu_sleep.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <tuple>

#include "attribution/sleep_relays.h"
#include "attribution/sync_test.h"
#include "base/shares.h"
#include "model/loss_spans.h"
#include "model/outstanding.h"
#include "model/tolerances.h"

namespace synctrace {
namespace {

struct WorkEnd {
  Nanoseconds end_ns = 0;
  DeviceId device{};
};

// The ends of the work behind which a thread put a host function, sorted.
std::vector<WorkEnd> ends_before_host_functions(const Trace& trace, const Correlation& correlation) {
  std::vector<const Launch*> functions;
  for (const Launch& launch : trace.launches) {
    const auto api = trace.apis.find(launch.api);
    if (api != trace.apis.end() && api->second.category == ApiCategory::kHostFunction) functions.push_back(&launch);
  }
  std::vector<WorkEnd> ends;
  if (functions.empty()) return ends;
  std::sort(functions.begin(), functions.end(),
            [](const Launch* a, const Launch* b) { return a->span.begin_ns < b->span.begin_ns; });
  std::map<ThreadId, WorkEnd> last;  // issued by each thread
  const auto issued = correlation.by_issue();
  std::size_t next = 0;
  for (const Launch* function : functions) {
    for (; next < issued.size() && correlation.issued_ns(issued[next]) <= function->span.begin_ns; ++next) {
      const Operation& work = trace.operations[issued[next]];
      const auto issuer = correlation.issuer_of(issued[next]);
      if (!issuer) continue;
      last[issuer->is_launch ? trace.launches[issuer->row].thread : trace.calls[issuer->row].thread] = {
          work.span.end_ns, work.device};
    }
    const auto before = last.find(function->thread);
    if (before != last.end()) ends.push_back(before->second);
  }
  std::sort(ends.begin(), ends.end(), [](const WorkEnd& a, const WorkEnd& b) { return a.end_ns < b.end_ns; });
  return ends;
}

// A wait that a thread without records ended: by the host function that stood behind some work?
GpuSleep judged_by_wake(const HostWait& wait, const std::vector<WorkEnd>& ends) {
  const auto after = std::upper_bound(ends.begin(), ends.end(), wait.wake_ns,
                                      [](Nanoseconds t, const WorkEnd& work) { return t < work.end_ns; });
  if (after == ends.begin()) return {};
  const WorkEnd& work = *std::prev(after);
  const bool met = work.end_ns > wait.span.begin_ns + kOutstandingMarginNs;
  if (!met || wait.wake_ns - work.end_ns > kHostFunctionNs) return {};
  return {true, false, work.device, work.end_ns, 0};
}

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
  return {true, false, progress.device, std::min(progress.end_before_ns, span.end_ns), 0};
}

// Sleeps at one place that must have returned with the work that they met: a few did so late, or were woken for another
// reason. In a pool tasks wake each other, too.
constexpr Share kOfOnePlace = percent(80);
constexpr Share kOfAPool = percent(50);

struct Votes {
  std::uint64_t met_work = 0;
  std::uint64_t ended_by_workers = 0;  // a part of met_work
  std::uint64_t returned_with_work = 0;

  bool all_wait_for_work() const { return ratio(returned_with_work, met_work) >= kOfOnePlace; }
  bool are_of_pool() const {
    return returned_with_work > 0 && ratio(returned_with_work, met_work - ended_by_workers) >= kOfAPool;
  }
};

}  // namespace

GpuSleeps find_gpu_sleeps(const Trace& trace, const Correlation& correlation, const HostTimeline& host,
                          const Calibration& calibration, const StackReader& stacks) {
  const Nanoseconds latest_ns = calibration.return_latency.p90_ns + kOutstandingMarginNs;
  GpuSleeps sleeps;
  sleeps.host_waits.resize(trace.host_waits.size());
  sleeps.polls.resize(trace.polls.size());
  if (!trace.has_timeline()) return sleeps;

  const std::vector<Progress> at_polls = progress_at_ends(trace, correlation, trace.polls);
  for (std::size_t row = 0; row < trace.polls.size(); ++row) {
    if (!is_wait(trace.polls[row])) continue;
    sleeps.polls[row] = judged(trace.polls[row].span, at_polls[row], latest_ns);
    sleeps.polls[row].owner = static_cast<std::uint32_t>(row);
  }

  const std::vector<Progress> at_waits = progress_at_ends(trace, correlation, trace.host_waits);
  const std::vector<WorkEnd> ends = ends_before_host_functions(trace, correlation);
  std::map<std::tuple<HostCall, StackId, ThreadId>, Votes> votes;
  const auto group_of = [](const HostWait& wait) { return std::tuple(wait.call, wait.stack, wait.thread); };
  for (std::size_t row = 0; row < trace.host_waits.size(); ++row) {
    const HostWait& wait = trace.host_waits[row];
    Votes& group = votes[group_of(wait)];
    // Work that is not in the trace must not speak against a group.
    const bool votes_count = !may_lack_records(trace.lossy, wait.span);
    const bool woken_by_worker = number(wait.waker) != 0 && host.index_of(wait.waker) != HostTimeline::kNoThread;
    if (votes_count && at_waits[row].last_end_ns > wait.span.begin_ns + kOutstandingMarginNs) {
      ++group.met_work;
      if (woken_by_worker) ++group.ended_by_workers;
    }
    // A loader's code sleeps for its next batch, however often that comes when GPU work ends.
    if (stacks.traits(wait.stack).loader) continue;
    if (woken_by_worker || (wait.flags & format::HostWait::kTimedOut) != 0) continue;
    sleeps.host_waits[row] = judged(wait.span, at_waits[row], latest_ns + kWakeUpNs);
    const bool by_function = !sleeps.host_waits[row].waited && number(wait.waker) != 0 && wait.wake_ns > 0;
    if (by_function) sleeps.host_waits[row] = judged_by_wake(wait, ends);
    if (votes_count && sleeps.host_waits[row].waited) ++group.returned_with_work;
  }
  for (std::size_t row = 0; row < trace.host_waits.size(); ++row) {
    const HostWait& wait = trace.host_waits[row];
    const Votes& group = votes[group_of(wait)];
    GpuSleep& sleep = sleeps.host_waits[row];
    if (!group.all_wait_for_work()) {
      sleep.of_pool = group.are_of_pool() && !stacks.traits(wait.stack).python;
      if (!sleep.of_pool) sleep = {};
    }
    sleep.owner = static_cast<std::uint32_t>(row);
  }
  add_relays(trace, stacks, sleeps.host_waits);
  return sleeps;
}

}  // namespace synctrace
