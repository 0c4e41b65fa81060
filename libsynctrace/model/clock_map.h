// SPDX-License-Identifier: Apache-2.0
// The GPU's clock brought in line with the host's. Two facts order them: work starts after the begin of the call that
// issued it, and a wait returns after the work it waited for ended. Where a second of the trace breaks either, its GPU
// times are shifted by the middle of what would correct both, linearly from one second to the next; nothing else is
// touched.
#pragma once

#include <cstdint>
#include <optional>

#include "model/outstanding.h"
#include "model/trace.h"

namespace synctrace {

struct ClockRepair {
  std::uint64_t edges = 0;          // facts that order the two clocks
  std::uint64_t broken_before = 0;  // edges that the recorded times contradict
  std::uint64_t broken_after = 0;   // contradicted by more than kWorstSkewNs after the repair
  Nanoseconds largest_shift_ns = 0;
  bool is_usable() const noexcept { return broken_after * 1'000 <= edges; }
};

// O(n log n) in calls and operations. Sorts Trace::operations again where a shift changed their order. `joins` receives
// those of the trace where nothing had to be shifted, and nothing else.
ClockRepair repair_clock(Trace& trace, std::optional<Joins>* joins = nullptr);

}  // namespace synctrace
