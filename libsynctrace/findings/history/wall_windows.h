// SPDX-License-Identifier: Apache-2.0
// Stretches of equal length on the wall clock, the same for all recordings, that the times of a trace fall into.
#pragma once

#include <cstdint>

#include "base/time_span.h"

namespace synctrace {

class WallWindows {
 public:
  // `lead_ns`: of the wall clock over the trace's own; their sum must not overflow for any time of the trace.
  WallWindows(Nanoseconds lead_ns, Nanoseconds length_ns) noexcept : lead_ns_(lead_ns), length_ns_(length_ns) {}

  Nanoseconds length_ns() const noexcept { return length_ns_; }
  Nanoseconds wall(Nanoseconds t) const noexcept { return t + lead_ns_; }

  // When the window of a time of the trace begins, on the wall clock.
  Nanoseconds begin_of(Nanoseconds t) const noexcept {
    const Nanoseconds since_ns = wall(t) % length_ns_;
    return wall(t) - (since_ns < 0 ? since_ns + length_ns_ : since_ns);
  }
  // When it ends, on the trace's clock.
  Nanoseconds end_of(Nanoseconds t) const noexcept { return begin_of(t) + length_ns_ - lead_ns_; }

 private:
  Nanoseconds lead_ns_;
  Nanoseconds length_ns_;
};

}  // namespace synctrace
