// SPDX-License-Identifier: Apache-2.0
#include "findings/timeline/trace_clock.h"

#include "base/shown_text.h"

namespace synctrace::page {

TraceClock clock_of(const Trace& trace) {
  TraceClock result{printable(fact(trace, "host")), std::nullopt, {trace.first_ns, trace.last_ns}, std::nullopt};
  constexpr Nanoseconds kLatestWallNs = Nanoseconds{1} << 62;
  for (const Clock& clock : trace.clocks) {
    const bool possible = clock.monotonic_ns >= 0 && clock.monotonic_ns <= kLatestTime && clock.realtime_ns >= 0 &&
                          clock.realtime_ns <= kLatestWallNs;
    if (!possible) continue;
    result.lead_ns = clock.realtime_ns - clock.monotonic_ns;
    break;
  }
  return result;
}

}  // namespace synctrace::page
