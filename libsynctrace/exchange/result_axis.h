// SPDX-License-Identifier: Apache-2.0
// Where the times of a trace lie in a result: on the wall clock, from the result's zero on. A rank of a job uses the
// wall clock of the first rank, so that operations that ranks leave together end together.
#pragma once

#include <algorithm>

#include "model/rank_lane.h"
#include "model/wall_clock.h"

namespace synctrace {

class ResultAxis {
 public:
  ResultAxis() = default;
  ResultAxis(const Trace& trace, const RankLane* rank, Nanoseconds base_ns)
      : shift_ns_((rank == nullptr ? clock_lead_ns(trace) : rank->lead_ns) - base_ns) {
    if (rank != nullptr) clock_ = rank->clock;
  }

  // Never before zero, and in the order of the times themselves, so that slices nest as they did.
  Nanoseconds of(Nanoseconds t) const noexcept { return std::max<Nanoseconds>(0, clock_.common(t) + shift_ns_); }

 private:
  RankClock clock_;
  Nanoseconds shift_ns_ = 0;
};

}  // namespace synctrace
