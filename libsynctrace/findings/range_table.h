// SPDX-License-Identifier: Apache-2.0
// What happened inside the program's NVTX ranges, by name: what their threads issued and waited for, and what the
// devices did meanwhile.
#pragma once

#include "findings/report/report.h"
#include "model/trace.h"

namespace synctrace {

struct Attribution;

// Fills ranges. O((ranges + calls + operations) log n), and nothing without ranges.
void add_ranges(const Trace& trace, const Attribution& attribution, Report& report);

}  // namespace synctrace
