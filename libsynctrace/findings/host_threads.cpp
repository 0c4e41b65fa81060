// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/shown_text.h"
#include "findings/report/trace_words.h"
#include "findings/report_parts.h"

namespace synctrace {
namespace {

HostThread thread_of(const Trace& trace, ThreadId id, bool uses_cuda) {
  const auto name = trace.threads.find(id);
  return {number(id), name == trace.threads.end() ? std::string() : printable(name->second), uses_cuda};
}

std::set<ThreadId> threads_with_cuda(const Trace& trace) {
  std::set<ThreadId> threads;
  ThreadId last{};
  const auto add_all = [&](const auto& rows) {
    for (const auto& row : rows) {
      if (row.thread != last) threads.insert(row.thread);
      last = row.thread;
    }
  };
  add_all(trace.calls);
  add_all(trace.launches);
  add_all(trace.polls);
  return threads;
}

struct Grouped {
  HostCallSite site;
  std::map<ThreadId, std::uint64_t> wakers;
};

void count_wait(const HostWait& wait, Grouped& group) {
  HostCallSite& site = group.site;
  const Nanoseconds length_ns = wait.span.length_ns();
  ++site.count;
  site.slept_ns = add_saturated(site.slept_ns, length_ns);
  site.longest_ns = std::max(site.longest_ns, length_ns);
  site.timed_out_count += (wait.flags & format::HostWait::kTimedOut) != 0 ? 1 : 0;
  site.interrupted_count += (wait.flags & format::HostWait::kInterrupted) != 0 ? 1 : 0;
  if (number(wait.waker) == 0) return;
  ++site.woken_count;
  ++group.wakers[wait.waker];
}

void add_host_waits(const Trace& trace, const std::set<ThreadId>& with_cuda, StackPlaces& places, Report& report) {
  std::map<std::tuple<ThreadId, StackPlace, HostCall>, Grouped> groups;
  for (const HostWait& wait : trace.host_waits)
    count_wait(wait, groups[{wait.thread, places.place_of(wait.stack), wait.call}]);
  for (auto& [key, group] : groups) {
    const auto& [thread, place, call] = key;
    group.site.where = places.line_of(place);
    group.site.thread = thread_of(trace, thread, with_cuda.contains(thread));
    group.site.call = host_call_word(call);
    const auto most = std::max_element(group.wakers.begin(), group.wakers.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most != group.wakers.end()) group.site.waker = thread_of(trace, most->first, with_cuda.contains(most->first));
    report.host_waits.push_back(std::move(group.site));
  }
  std::stable_sort(report.host_waits.begin(), report.host_waits.end(),
                   [](const HostCallSite& a, const HostCallSite& b) { return a.slept_ns > b.slept_ns; });
}

void add_samples(const Trace& trace, const std::set<ThreadId>& with_cuda, StackPlaces& places, Report& report) {
  using State = format::Sample::State;
  std::map<std::tuple<ThreadId, StackPlace, State, StringId>, std::uint64_t> counts;
  for (const Sample& sample : trace.samples)
    counts[{sample.thread, places.place_of(sample.stack), sample.state, sample.channel}] += sample.count;
  for (const auto& [key, count] : counts) {
    const auto& [thread, place, state, channel] = key;
    const auto name = trace.strings.find(channel);
    report.samples.push_back({places.line_of(place), thread_of(trace, thread, with_cuda.contains(thread)),
                              std::string(sample_state_word(state)),
                              name == trace.strings.end() ? std::string() : printable(name->second), count});
  }
  std::stable_sort(report.samples.begin(), report.samples.end(),
                   [](const SampledLine& a, const SampledLine& b) { return a.count > b.count; });
}

}  // namespace

void add_host_threads(const Trace& trace, StackPlaces& places, Report& report) {
  const std::set<ThreadId> with_cuda = threads_with_cuda(trace);
  add_host_waits(trace, with_cuda, places, report);
  add_samples(trace, with_cuda, places, report);
}

}  // namespace synctrace
