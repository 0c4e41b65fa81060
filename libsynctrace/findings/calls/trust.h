// SPDX-License-Identifier: Apache-2.0
// Whether a trace can be the ground of a verdict: what it lacks, and settings under which waits cannot be seen.
#pragma once

#include "findings/calls/wait_sites.h"

namespace synctrace {

// Fills `lost` and `blind`.
void add_losses(const Trace& trace, WaitSites& out);

}  // namespace synctrace
