// SPDX-License-Identifier: Apache-2.0
// How a table of idle time is cut: with steps, the time in them is what a fix changes, so that what comes before, between and
// after them is one line. The edges stand last and are always shown: they may be most of the time, and nothing is to be mended
// there.
#pragma once

#include <string>
#include <vector>

#include "findings/report.h"

namespace synctrace {

struct CauseSplit {
  std::vector<const IdleCause*> rows;
  std::vector<const IdleCause*> edges;
  Nanoseconds counted_ns = 0;
  Nanoseconds outside_ns = 0;  // without the edges
};

CauseSplit split_causes(const Report& report, const std::vector<IdleCause>& causes);

// What a table counts of a cause.
Nanoseconds counted_ns(const Report& report, const IdleCause& cause) noexcept;

// What a row has to say beside its figures; empty: nothing.
std::string note_of(const IdleCause& cause);

}  // namespace synctrace
