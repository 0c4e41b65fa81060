// SPDX-License-Identifier: Apache-2.0
// One rank's clock beside that of the first rank of its job. The default is that clock itself.
#pragma once

#include <algorithm>

#include "base/time_span.h"

namespace synctrace {

struct RankClock {
  bool known = false;
  double offset_ns = 0;  // how far this rank's clock is ahead of the first rank's at from_ns
  double drift = 0;      // how much that grows each nanosecond
  Nanoseconds from_ns = 0;
  Nanoseconds residual_ns = 0;  // the ends of operations disagree by this in the middle: finer is not known

  bool is_identity() const noexcept { return offset_ns == 0 && drift == 0; }

  // A time of the rank on the first rank's clock, and back. Never changes the order of two times.
  Nanoseconds common(Nanoseconds t) const noexcept {
    return t - bounded(offset_ns + drift * static_cast<double>(t - from_ns));
  }
  Nanoseconds own(Nanoseconds common_ns) const noexcept {
    const double since_ns = static_cast<double>(common_ns - from_ns) + offset_ns;
    return from_ns + bounded(since_ns / (1 - drift));
  }

 private:
  // In a damaged trace a clock can have any value.
  static Nanoseconds bounded(double ns) noexcept {
    constexpr auto kMost = static_cast<double>(kLatestTime);
    return static_cast<Nanoseconds>(std::clamp(ns, -kMost, kMost));
  }
};

}  // namespace synctrace
