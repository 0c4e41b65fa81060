// SPDX-License-Identifier: Apache-2.0
// Waits for the GPU that are handed on: a library's thread, without Python, sleeps until work ends and then wakes the
// thread that asked for it. The wakers are exact, so no guess is made.
#pragma once

#include <vector>

#include "attribution/gpu_sleep.h"
#include "attribution/stack_traits.h"
#include "model/trace.h"

namespace synctrace {

// `sleeps`: one per row of Trace::host_waits. Adds the waits that others handed on, and charges the wait of a thread
// without Python to the Python thread that slept at the time. In a thread pool only such waits count.
void add_relays(const Trace& trace, const StackReader& stacks, std::vector<GpuSleep>& sleeps);

}  // namespace synctrace
