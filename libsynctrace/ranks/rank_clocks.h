// SPDX-License-Identifier: Apache-2.0
// How far the ranks' clocks are apart, measured by what they did together: operations that all leave at once. Only what
// durations cannot tell needs it: which side of a pair came late, and to put ranks on one axis.
#pragma once

#include <span>
#include <vector>

#include "model/rank_clock.h"
#include "ranks/match.h"

namespace synctrace {

struct RankClocks {
  std::vector<RankClock> ranks;

  // A time of a rank on the first rank's clock.
  Nanoseconds common(std::uint32_t rank, Nanoseconds t) const noexcept { return ranks[rank].common(t); }
};

RankClocks measure_clocks(std::span<const RankSummary> ranks, const JobMatch& match);

}  // namespace synctrace
