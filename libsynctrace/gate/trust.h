// SPDX-License-Identifier: Apache-2.0
// Whether a trace can be the ground of a verdict: what it lacks, and settings under which waits cannot be seen.
#pragma once

#include "gate/observe.h"

namespace synctrace {

// Fills `lost` and `blind`. `unfinished`: the trace is still being written.
void add_losses(const Trace& trace, bool unfinished, Observation& out);

}  // namespace synctrace
