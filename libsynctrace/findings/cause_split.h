// SPDX-License-Identifier: Apache-2.0
// How every table of idle time is cut, in each output alike: with steps, the time in the ordinary ones is what a fix
// changes, so that what irregular ones had is one line, and what comes before, between and after the steps is one. The
// edges stand last and are always shown: they may be most of the time, and nothing is to be fixed there.
#pragma once

#include <string>
#include <vector>

#include "findings/report/report.h"

namespace synctrace {

struct CauseSplit {
  std::vector<const IdleCause*> rows;
  std::vector<const IdleCause*> edges;
  Nanoseconds counted_ns = 0;
  Nanoseconds irregular_ns = 0;  // in irregular steps
  Nanoseconds outside_ns = 0;    // outside of all steps, without the edges
  Nanoseconds all_ns = 0;        // rows, irregular, outside and edges
  Nanoseconds shown_ns = 0;      // what the shares of rows are of: with steps the counted time, else all
  Nanoseconds edges_of_ns = 0;   // what those of the edges are of; 0: with steps they have none
};

CauseSplit split_causes(const Report& report, const std::vector<IdleCause>& causes);

// What a table counts of a cause that is no edge. Edges count as a whole.
Nanoseconds counted_ns(const Report& report, const IdleCause& cause) noexcept;

// What a row has to say beside its figures; empty: nothing.
std::string note_of(const IdleCause& cause);

}  // namespace synctrace
