// SPDX-License-Identifier: Apache-2.0
// Calls added up in other ways than by waiting site: by function, by the line of pageable copies, and by the line of
// what takes and gives back memory in the steps.
#pragma once

#include "findings/calls/stack_places.h"
#include "findings/report/report.h"
#include "model/trace.h"

namespace synctrace {

struct Attribution;

// Fills apis, pageable_copies and step_allocations, from calls that `report` covers.
void add_call_tables(const Trace& trace, const Attribution& attribution, StackPlaces& places, Report& report);

}  // namespace synctrace
