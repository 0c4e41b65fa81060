// SPDX-License-Identifier: Apache-2.0
// What a trace says about its clock: enough to tell whether another trace counts from the same instant.
#pragma once

#include <optional>
#include <string>

#include "base/time_span.h"
#include "model/rank_clock.h"
#include "model/trace.h"

namespace synctrace::page {

struct TraceClock {
  std::string host;                    // empty: not known
  std::optional<Nanoseconds> lead_ns;  // how far the wall clock is ahead: when the host began to count
  TimeSpan span;                       // the whole trace, on its own clock
  std::optional<RankClock> on_job{};   // for a rank whose clock was measured against those of its job
};

TraceClock clock_of(const Trace& trace);

}  // namespace synctrace::page
