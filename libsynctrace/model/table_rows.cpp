// SPDX-License-Identifier: Apache-2.0
#include "model/table_rows.h"

#include <algorithm>

#include "base/in_background.h"
#include "base/large_rows.h"
#include "model/merge_runs.h"

namespace synctrace {
namespace {

// A full table gets the room that the rest of the file asks for, so that it seldom moves; room that is not written
// costs nothing.
template <class Row>
void append(const std::vector<Row>& from, double share_read, std::vector<Row>& to) {
  constexpr double kMostGrowth = 16;
  const std::size_t count = to.size() + from.size();
  if (count > to.capacity()) {
    const double factor = std::clamp(1.1 / share_read, 1.5, kMostGrowth);
    reserve_large(to, 64 + static_cast<std::size_t>(factor * static_cast<double>(count)));
  }
  to.insert(to.end(), from.begin(), from.end());
}

}  // namespace

void append_host_rows(const TableRows& rows, double share_read, Trace& trace) {
  append(rows.calls, share_read, trace.calls);
  append(rows.launches, share_read, trace.launches);
  append(rows.launch_failures, share_read, trace.launch_failures);
  append(rows.polls, share_read, trace.polls);
  append(rows.overheads, share_read, trace.overheads);
  append(rows.nvtx_events, share_read, trace.nvtx_events);
  append(rows.resources, share_read, trace.resources);
  append(rows.host_waits, share_read, trace.host_waits);
  append(rows.samples, share_read, trace.samples);
  append(rows.child_looks, share_read, trace.child_looks);
  append(rows.collectives, share_read, trace.collectives);
  append(rows.collective_launches, share_read, trace.collective_launches);
  append(rows.gpu_uses, share_read, trace.gpu_uses);
}

void append_operations(const std::vector<Operation>& rows, double share_read, Trace& trace) {
  append(rows, share_read, trace.operations);
}

void sort_rows(Trace& trace) {
  const auto by_begin = [](const auto& a, const auto& b) { return a.span.begin_ns < b.span.begin_ns; };
  const auto by_time = [](const auto& a, const auto& b) { return a.time_ns < b.time_ns; };
  auto operations = in_background(trace.operations.size(), [&] { merge_runs(trace.operations, by_begin); });
  merge_runs(trace.calls, by_begin);
  merge_runs(trace.launches, by_begin);
  sort_failures(trace);
  merge_runs(trace.polls, by_begin);
  merge_runs(trace.overheads, by_begin);
  merge_runs(trace.host_waits, by_begin);
  merge_runs(trace.samples, by_begin);
  merge_runs(trace.nvtx_events, by_time);
  merge_runs(trace.resources, by_time);
  merge_runs(trace.child_looks, by_time);
  merge_runs(trace.collectives, by_time);
  merge_runs(trace.collective_launches, by_begin);
  merge_runs(trace.gpu_uses, by_begin);
  operations.get();
}

}  // namespace synctrace
