// SPDX-License-Identifier: Apache-2.0
#include "ranks/unit_chain.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "attribution/device_gaps.h"
#include "model/collective_kernels.h"
#include "model/tolerances.h"

namespace synctrace {
namespace {

void chain_device(const std::vector<StreamKey>& streams, std::uint32_t device, const std::vector<Nanoseconds>& begins,
                  RankSummary& rank) {
  std::vector<Nanoseconds> stretch_ends;
  for (const CollectiveStretch& one : rank.devices[device].stretches) stretch_ends.push_back(one.span.end_ns);
  std::vector<std::pair<Nanoseconds, std::uint32_t>> resumed;  // ends of units for which the GPU waited
  for (std::uint32_t i = 0; i < rank.units.size(); ++i) {
    const Nanoseconds end_ns = rank.units[i].span.end_ns;
    if (rank.units[i].device != device) continue;
    if (!std::binary_search(stretch_ends.begin(), stretch_ends.end(), end_ns)) continue;
    const auto next = std::lower_bound(begins.begin(), begins.end(), end_ns);
    if (next != begins.end() && *next - end_ns < kResumedNs) resumed.emplace_back(end_ns, i);
  }
  std::sort(resumed.begin(), resumed.end());

  std::unordered_map<StreamKey, std::uint32_t, StreamKeyHash> last_of_stream;
  std::size_t next = 0;
  std::uint32_t before = 0;
  for (std::uint32_t i = 0; i < rank.units.size(); ++i) {
    CollectiveUnit& unit = rank.units[i];
    if (unit.device != device) continue;
    unit.own.begin_ns = before == 0 ? unit.own.end_ns : rank.units[before - 1].own.end_ns;
    unit.after = before;
    for (; next < resumed.size() && resumed[next].first <= unit.own.end_ns; ++next) {
      if (resumed[next].first < unit.own.begin_ns) continue;
      unit.own.begin_ns = resumed[next].first;
      unit.after = resumed[next].second + 1;
      unit.after_end = true;
    }
    before = i + 1;
    unit.behind = std::exchange(last_of_stream[streams[i]], i + 1);
  }
}

// All that a device ran but collectives, in order of time.
struct OwnWork {
  std::vector<Nanoseconds> begins;  // when each piece of work begins
  std::vector<TimeSpan> spans;      // without overlaps
};

OwnWork own_work(const Trace& trace, const DeviceRows& operations) {
  OwnWork work;
  CollectiveKernels kernels(trace);
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const Operation& operation = trace.operations[operations[i]];
    if (kernels.is(operation)) continue;
    work.begins.push_back(operation.span.begin_ns);
    if (!work.spans.empty() && operation.span.begin_ns <= work.spans.back().end_ns)
      work.spans.back().end_ns = std::max(work.spans.back().end_ns, operation.span.end_ns);
    else
      work.spans.push_back(operation.span);
  }
  return work;
}

void add_work(const std::vector<TimeSpan>& work, std::uint32_t device, RankSummary& rank) {
  std::size_t next = 0;
  for (CollectiveUnit& unit : rank.units) {
    if (unit.device != device) continue;
    while (next < work.size() && work[next].end_ns <= unit.own.begin_ns) ++next;
    for (std::size_t i = next; i < work.size() && work[i].begin_ns < unit.own.end_ns; ++i)
      unit.work_ns += intersect(unit.own, work[i]).length_ns();
  }
}

// Units are ready in order, and few run at once.
void find_beside(std::uint32_t device, RankSummary& rank) {
  constexpr std::size_t kMostBefore = 16;
  std::vector<std::uint32_t> before;
  for (std::uint32_t i = 0; i < rank.units.size(); ++i) {
    CollectiveUnit& unit = rank.units[i];
    if (unit.device != device) continue;
    Nanoseconds most_ns = 0;
    for (std::size_t k = before.size(); k > 0 && before.size() - k < kMostBefore; --k) {
      const Nanoseconds ns = intersect(unit.own, rank.units[before[k - 1]].span).length_ns();
      if (ns <= most_ns) continue;
      most_ns = ns;
      unit.beside = before[k - 1] + 1;
    }
    before.push_back(i);
  }
}

}  // namespace

void chain_units(const Trace& trace, const std::vector<StreamKey>& streams, RankSummary& rank) {
  const auto operations = operations_by_device(trace);
  for (std::uint32_t device = 0; device < rank.devices.size(); ++device) {
    const auto rows = operations.find(rank.devices[device].id);
    const OwnWork work = rows == operations.end() ? OwnWork{} : own_work(trace, rows->second);
    chain_device(streams, device, work.begins, rank);
    add_work(work.spans, device, rank);
    find_beside(device, rank);
  }
}

}  // namespace synctrace
