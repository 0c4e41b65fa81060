// SPDX-License-Identifier: Apache-2.0
// Whether a trace can be the ground of a verdict: what it lacks, and settings under which waits cannot be seen.
#pragma once

#include "findings/calls/wait_sites.h"

namespace synctrace {

// Fills `lost` and `blind`. Where two recordings are compared, what lies outside of their windows is missed in neither.
void add_losses(const Trace& trace, bool compares, WaitSites& out);

}  // namespace synctrace
