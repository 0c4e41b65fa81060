// SPDX-License-Identifier: Apache-2.0
// What the host threads did beside CUDA calls: where they slept in the C library, exactly, and what samples found them
// at.
#pragma once

#include "findings/calls/stack_places.h"
#include "findings/report/report.h"
#include "model/trace.h"

namespace synctrace {

// Fills host_waits and samples of `report`.
void add_host_threads(const Trace& trace, StackPlaces& places, Report& report);

}  // namespace synctrace
