// SPDX-License-Identifier: Apache-2.0
// How fast a rank's host runs the same code as other ranks: by its launches and the time between them. A line that
// takes longer on one rank moves none of these figures; a slower processor, or a busy neighbour on it, moves all.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "base/time_span.h"

namespace synctrace {

struct Attribution;
struct Trace;

struct HostPace {
  // The median length of a launch; then the quartiles of the time from one launch to the next of the same thread.
  std::array<Nanoseconds, 4> times_ns{};
  std::size_t launches = 0;  // 0: too few to tell
};

HostPace host_pace_of(const Trace& trace);

// How many times the middle of the others' time one of them takes, in the figure in which it is least; 0 where it is
// not slower in all of them.
double slower_host(const HostPace& own, std::span<const HostPace> others);

// For how long, in ordinary steps, some thread that launches was in no wait: no change of another rank makes the steps
// shorter than that. 0: not known.
Nanoseconds host_busy_ns(const Trace& trace, const Attribution& attribution);

}  // namespace synctrace
