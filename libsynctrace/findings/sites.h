// SPDX-License-Identifier: Apache-2.0
// Groups a trace's calls and polls into call sites.
#pragma once

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

}  // namespace synctrace
