// SPDX-License-Identifier: Apache-2.0
// How far the ranks' clocks are apart, measured by what they did together: operations that all leave at once. Only what
// durations cannot tell needs it: which side of a pair came late, and to put ranks on one axis.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "ranks/match.h"

namespace synctrace {

struct RankClock {
  bool known = false;
  double offset_ns = 0;  // of this rank's clock to that of the first: at from_ns,
  double drift = 0;      // and more by so much each nanosecond
  Nanoseconds from_ns = 0;
  Nanoseconds residual_ns = 0;  // the ends of operations disagree by this in the middle: finer is not known
};

struct RankClocks {
  std::vector<RankClock> ranks;

  // A time of a rank on the first rank's clock.
  Nanoseconds common(std::uint32_t rank, Nanoseconds t) const noexcept {
    const RankClock& clock = ranks[rank];
    const double ahead_ns = clock.offset_ns + clock.drift * static_cast<double>(t - clock.from_ns);
    // Of damaged traces clocks are anywhere.
    constexpr auto kMost = static_cast<double>(kLatestTime);
    return t - static_cast<Nanoseconds>(std::clamp(ahead_ns, -kMost, kMost));
  }
};

RankClocks measure_clocks(std::span<const RankSummary> ranks, const JobMatch& match);

}  // namespace synctrace
