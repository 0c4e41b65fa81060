// SPDX-License-Identifier: Apache-2.0
#include "ranks/host_pace.h"

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include "attribution/attribute.h"
#include "base/median.h"
#include "base/merged_spans.h"
#include "model/trace.h"

namespace synctrace {
namespace {

constexpr std::size_t kFewestLaunches = 200;
constexpr std::size_t kMostLooked = 200'000;
// Four H200 and PyTorch 2.11: in the figure in which ranks are nearest, even ones differ by up to 4 %, and slow hosts
// by 14 % and more.
constexpr double kSlowHost = 1.08;

// What is queued found the GPU's queue full where it took so many times as long as a launch does.
constexpr Nanoseconds kQueueIsFull = 10;
// A thread with less of the launches has no part in how fast the rank is.
constexpr std::size_t kLaunchers = 20;

// Only queues work, as a launch does. A copy of pageable memory copies on the host, too.
bool is_queued(const Call& call) {
  if (call.category == ApiCategory::kMemset) return true;
  return call.category == ApiCategory::kCopyAsync && call.source_memory != MemoryKind::kPageable &&
         call.target_memory != MemoryKind::kPageable;
}

using Waits = std::unordered_map<ThreadId, std::vector<TimeSpan>>;

// The waits of threads that launch.
Waits waits_of(const Trace& trace, const Attribution& attribution) {
  std::unordered_map<ThreadId, std::size_t> launches;
  std::vector<Nanoseconds> lengths;
  for (const Launch& launch : trace.launches) {
    ++launches[launch.thread];
    if (lengths.size() < kMostLooked) lengths.push_back(launch.span.length_ns());
  }
  Waits waits;
  if (lengths.size() < kFewestLaunches) return waits;
  const Nanoseconds full_ns = kQueueIsFull * median_of(std::move(lengths));
  for (const auto& [thread, count] : launches) {
    if (count >= trace.launches.size() / kLaunchers) waits.try_emplace(thread);
  }
  const auto add = [&](ThreadId thread, TimeSpan span) {
    if (const auto found = waits.find(thread); found != waits.end()) found->second.push_back(span);
  };
  for (const Launch& launch : trace.launches) {
    if (launch.span.length_ns() > full_ns) add(launch.thread, launch.span);
  }
  for (std::size_t i = 0; i < trace.calls.size(); ++i) {
    const Call& call = trace.calls[i];
    const bool is_full = is_queued(call) && call.span.length_ns() > full_ns;
    if (is_full || attribution.judgements[i].verdict == Verdict::kBlocked) add(call.thread, call.span);
  }
  for (const HostWait& wait : trace.host_waits) add(wait.thread, wait.span);
  for (const Poll& poll : trace.polls) {
    if (poll.not_ready_count != 0) add(poll.thread, poll.span);
  }
  return waits;
}

// When all of them wait.
std::vector<TimeSpan> common(Waits waits) {
  std::vector<std::pair<Nanoseconds, int>> edges;
  for (auto& [thread, spans] : waits) {
    for (const TimeSpan span : merged(std::move(spans))) {
      edges.emplace_back(span.begin_ns, 1);
      edges.emplace_back(span.end_ns, -1);
    }
  }
  std::sort(edges.begin(), edges.end());
  std::vector<TimeSpan> all;
  std::size_t waiting = 0;
  for (const auto& [time_ns, change] : edges) {
    if (waiting == waits.size()) all.back().end_ns = time_ns;
    waiting += static_cast<std::size_t>(change);
    if (waiting == waits.size()) all.push_back({time_ns, time_ns});
  }
  return all;
}

Nanoseconds quartile(std::vector<Nanoseconds>& values, std::size_t quarters) {
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(values.size() * quarters / 4);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

}  // namespace

HostPace host_pace_of(const Trace& trace) {
  HostPace pace;
  std::vector<Nanoseconds> lengths, pauses;
  std::unordered_map<ThreadId, Nanoseconds> ends;
  const std::size_t every = 1 + trace.launches.size() / kMostLooked;
  for (std::size_t i = 0; i < trace.launches.size(); ++i) {
    const Launch& launch = trace.launches[i];
    const auto [end, is_first] = ends.try_emplace(launch.thread, launch.span.end_ns);
    if (i % every == 0) lengths.push_back(launch.span.length_ns());
    if (i % every == 0 && !is_first && launch.span.begin_ns >= end->second)
      pauses.push_back(launch.span.begin_ns - end->second);
    end->second = std::max(end->second, launch.span.end_ns);
  }
  if (pauses.size() < kFewestLaunches) return pace;
  pace.launches = trace.launches.size();
  pace.times_ns[0] = quartile(lengths, 2);
  for (std::size_t quarters = 1; quarters < pace.times_ns.size(); ++quarters)
    pace.times_ns[quarters] = quartile(pauses, quarters);
  return pace;
}

Nanoseconds host_busy_ns(const Trace& trace, const Attribution& attribution) {
  const Waits waits = waits_of(trace, attribution);
  if (waits.empty()) return 0;
  const std::vector<TimeSpan> idle = common(waits);
  Nanoseconds busy_ns = 0;
  for (const Step& step : attribution.steps.steps) {
    if (step.kind != StepKind::kSteady) continue;
    busy_ns += step.host.length_ns();
    auto span =
        std::partition_point(idle.begin(), idle.end(), [&](TimeSpan one) { return one.end_ns <= step.host.begin_ns; });
    for (; span != idle.end() && span->begin_ns < step.host.end_ns; ++span)
      busy_ns -= intersect(*span, step.host).length_ns();
  }
  return busy_ns;
}

double slower_host(const HostPace& own, std::span<const HostPace> others) {
  double least = 0;
  for (std::size_t i = 0; i < own.times_ns.size(); ++i) {
    std::vector<Nanoseconds> values;
    for (const HostPace& other : others) {
      if (other.launches != 0) values.push_back(other.times_ns[i]);
    }
    if (own.launches == 0 || values.empty()) return 0;
    const double ratio = static_cast<double>(own.times_ns[i]) /
                         static_cast<double>(std::max<Nanoseconds>(1, median_of(std::move(values))));
    least = i == 0 ? ratio : std::min(least, ratio);
  }
  return least >= kSlowHost ? least : 0;
}

}  // namespace synctrace
