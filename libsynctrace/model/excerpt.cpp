// SPDX-License-Identifier: Apache-2.0
#include "model/excerpt.h"

#include <algorithm>

namespace synctrace {
namespace {

template <class Row>
Nanoseconds time_of(const Row& row) {
  if constexpr (requires { row.span; }) {
    return row.span.begin_ns;
  } else {
    return row.time_ns;
  }
}

template <class Row>
void copy_rows(const std::vector<Row>& from, TimeSpan span, std::vector<Row>& to) {
  const auto earlier = [](const Row& row, Nanoseconds t) { return time_of(row) < t; };
  const auto first = std::lower_bound(from.begin(), from.end(), span.begin_ns, earlier);
  to.assign(first, std::lower_bound(first, from.end(), span.end_ns, earlier));
}

void copy_definitions(const Trace& from, Trace& to) {
  to.path = from.path;
  to.process_id = from.process_id;
  to.start_realtime_ns = from.start_realtime_ns;
  to.facts = from.facts;
  to.clocks = from.clocks;
  to.strings = from.strings;
  to.codes = from.codes;
  to.stacks = from.stacks;
  to.modules = from.modules;
  to.symbols = from.symbols;
  to.apis = from.apis;
  to.threads = from.threads;
  to.devices = from.devices;
  to.contexts = from.contexts;
  to.streams = from.streams;
  to.nvtx_domains = from.nvtx_domains;
  to.communicators = from.communicators;
  to.launch_failures = from.launch_failures;
  to.end_reason = from.end_reason;
  to.lossy = from.lossy;
}

}  // namespace

Trace excerpt_of(const Trace& trace, const Correlation& correlation, TimeSpan span) {
  Trace excerpt;
  copy_definitions(trace, excerpt);
  copy_rows(trace.calls, span, excerpt.calls);
  copy_rows(trace.launches, span, excerpt.launches);
  copy_rows(trace.polls, span, excerpt.polls);
  copy_rows(trace.overheads, span, excerpt.overheads);
  copy_rows(trace.nvtx_events, span, excerpt.nvtx_events);
  copy_rows(trace.resources, span, excerpt.resources);
  copy_rows(trace.host_waits, span, excerpt.host_waits);
  copy_rows(trace.samples, span, excerpt.samples);
  copy_rows(trace.child_looks, span, excerpt.child_looks);
  copy_rows(trace.collectives, span, excerpt.collectives);
  copy_rows(trace.collective_launches, span, excerpt.collective_launches);
  excerpt.first_ns = span.begin_ns;
  excerpt.last_ns = span.end_ns;
  // By row, so that they stay sorted by begin.
  for (std::uint32_t row = 0; row < trace.operations.size(); ++row) {
    if (!span.contains(correlation.issued_ns(row))) continue;
    excerpt.operations.push_back(trace.operations[row]);
    excerpt.last_ns = std::max(excerpt.last_ns, trace.operations[row].span.end_ns);
  }
  for (const Window& window : trace.windows) {
    const TimeSpan part = intersect(window.span, {span.begin_ns, excerpt.last_ns});
    if (!part.empty()) excerpt.windows.push_back({part, "excerpt"});
  }
  return excerpt;
}

std::size_t rows_of(const Trace& trace) noexcept {
  return trace.calls.size() + trace.launches.size() + trace.operations.size();
}

}  // namespace synctrace
