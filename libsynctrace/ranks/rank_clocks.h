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

  // A time of the rank on the first rank's clock, and back.
  Nanoseconds common(Nanoseconds t) const noexcept {
    return t - bounded(offset_ns + drift * static_cast<double>(t - from_ns));
  }
  Nanoseconds own(Nanoseconds common_ns) const noexcept {
    const double since_ns = static_cast<double>(common_ns - from_ns) + offset_ns;
    return from_ns + bounded(since_ns / (1 - drift));
  }

 private:
  // Of damaged traces clocks are anywhere.
  static Nanoseconds bounded(double ns) noexcept {
    constexpr auto kMost = static_cast<double>(kLatestTime);
    return static_cast<Nanoseconds>(std::clamp(ns, -kMost, kMost));
  }
};

struct RankClocks {
  std::vector<RankClock> ranks;

  // A time of a rank on the first rank's clock.
  Nanoseconds common(std::uint32_t rank, Nanoseconds t) const noexcept { return ranks[rank].common(t); }
};

RankClocks measure_clocks(std::span<const RankSummary> ranks, const JobMatch& match);

}  // namespace synctrace
