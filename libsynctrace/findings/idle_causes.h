// SPDX-License-Identifier: Apache-2.0
// Why each device was idle, as a report shows it: causes merged by rule and by the user's own line, dearest first, with
// what the waits at that line cost the host; and the one line that says what binds the program.
#pragma once

#include "findings/calls/line_rules.h"
#include "findings/calls/stack_places.h"
#include "findings/report/report.h"

namespace synctrace {

struct Attribution;

// Fills the causes of `report`'s devices, its steps and its verdict. After the devices.
void add_idle_causes(const Trace& trace, const Attribution& attribution, const LineRules& rules, StackPlaces& places,
                     Report& report);

}  // namespace synctrace
