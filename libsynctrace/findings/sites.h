// SPDX-License-Identifier: Apache-2.0
// Groups a trace's calls and polls into call sites.
#pragma once

#include <cstdint>
#include <vector>

#include "findings/history/wall_windows.h"
#include "findings/line_rules.h"
#include "findings/report.h"
#include "findings/stack_places.h"
#include "model/trace.h"

namespace synctrace {

struct Attribution;

// Whether the report is about a call of that span.
bool is_covered(const Trace& trace, const Report& report, TimeSpan span);

// Fills waits, long_calls, polls and the totals of calls in `report`, from calls that `report` covers.
void add_sites(const Trace& trace, const Attribution& attribution, const LineRules& rules, StackPlaces& places,
               Report& report);

// Those of a site's calls that began in one window.
struct CallWindow {
  std::int64_t begin_ns = 0;  // of the window, on the wall clock
  std::uint64_t count = 0;
  std::uint64_t blocked_count = 0;
  std::uint64_t bytes = 0;
  Nanoseconds host_blocked_ns = 0;
};

struct WindowedSite {
  CallSite site;
  std::vector<CallWindow> windows;  // by time; sum to the site's figures
};

// The sites of `report.waits` and `report.polls`, which is of the same trace, in no order that means anything.
std::vector<WindowedSite> sites_by_window(const Trace& trace, const Attribution& attribution, const LineRules& rules,
                                          StackPlaces& places, const Report& report, const WallWindows& windows);

}  // namespace synctrace
