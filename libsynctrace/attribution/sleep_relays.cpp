// SPDX-License-Identifier: Apache-2.0
#include "attribution/sleep_relays.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>

#include "attribution/sync_test.h"
#include "model/tolerances.h"

namespace synctrace {
namespace {

std::vector<std::uint32_t> by_end(const std::vector<HostWait>& waits) {
  std::vector<std::uint32_t> order(waits.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(),
            [&](std::uint32_t a, std::uint32_t b) { return waits[a].span.end_ns < waits[b].span.end_ns; });
  return order;
}

}  // namespace

void add_relays(const Trace& trace, const StackReader& stacks, std::vector<GpuSleep>& sleeps) {
  const std::vector<HostWait>& waits = trace.host_waits;
  const bool none = std::none_of(sleeps.begin(), sleeps.end(), [](const GpuSleep& sleep) { return sleep.waited; });
  if (none) return;
  const auto in_python = [&](std::uint32_t row) { return stacks.traits(waits[row].stack).python; };
  const std::vector<std::uint32_t> order = by_end(waits);
  std::map<ThreadId, std::uint32_t> last;  // that each thread is back from
  for (const std::uint32_t row : order) {
    const HostWait& wait = waits[row];
    const auto waker = sleeps[row].waited || number(wait.waker) == 0 ? last.end() : last.find(wait.waker);
    if (waker != last.end()) {
      const GpuSleep& handed = sleeps[waker->second];
      const Nanoseconds relayed_ns = wait.wake_ns - waits[waker->second].span.end_ns;
      const bool in_time = relayed_ns >= 0 && relayed_ns <= kLongestRelayNs;
      const bool met =
          handed.waited && !in_python(waker->second) && handed.work_end_ns > wait.span.begin_ns + kOutstandingMarginNs;
      if (in_time && met)
        sleeps[row] = {true, handed.of_pool && !in_python(row), handed.device, handed.work_end_ns, row};
    }
    last[wait.thread] = row;
  }
  // Backwards in time: the Python sleeps that end later come first, so that the one under way is the last one met.
  std::vector<std::uint32_t> under_way;
  for (auto row = order.rbegin(); row != order.rend(); ++row) {
    if (!sleeps[*row].waited) continue;
    if (in_python(*row)) {
      under_way.push_back(*row);
      continue;
    }
    const Nanoseconds end_ns = waits[*row].span.end_ns;
    while (!under_way.empty() && waits[under_way.back()].span.begin_ns >= end_ns) under_way.pop_back();
    if (!under_way.empty()) {
      sleeps[*row].owner = under_way.back();
    } else if (sleeps[*row].of_pool) {
      sleeps[*row].waited = false;
    }
  }
}

}  // namespace synctrace
