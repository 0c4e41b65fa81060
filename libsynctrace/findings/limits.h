// SPDX-License-Identifier: Apache-2.0
// What could not be known: losses of the recorder, damage of the file, and settings of the run under which the
// figures mean something else than usual.
#pragma once

#include "findings/report/report.h"
#include "model/trace.h"

namespace synctrace {

struct Attribution;

// Fills `losses`, gravest first. Call it last: it looks at what the report already says.
void add_limits(const Trace& trace, const Attribution& attribution, Report& report);

}  // namespace synctrace
