// SPDX-License-Identifier: Apache-2.0
// Which processes of a page share an axis of time. Processes of one host count from the same instant while it runs:
// what happened at once in two of them stands below each other. So do ranks of a job whose clocks were compared. Where
// that is not known, each has an axis of its own.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "timeline/page/trace_clock.h"

namespace synctrace::page {

struct Axis {
  std::vector<std::size_t> processes;   // places, in order
  std::vector<Nanoseconds> offsets_ns;  // when each begins, after the begin of the axis
  std::vector<double> rates;            // how fast the axis runs by the clock of each; 1 but where clocks were compared
  std::string note;                     // why it is one, or one of its own, as a sentence; empty: nothing to say
};

std::vector<Axis> axes_of(std::span<const TraceClock> clocks);

}  // namespace synctrace::page
