// SPDX-License-Identifier: Apache-2.0
// What the program's own threads did for its data loader, by samples: the one that waits for batches, and the one that
// copies them into pinned memory.
#pragma once

#include "attribution/stack_traits.h"
#include "base/time_span.h"
#include "model/trace.h"

namespace synctrace {

// Shares of a thread's samples.
struct LoaderThreads {
  std::size_t samples = 0;  // the waiting thread's; 0: there is none, or it was not sampled
  double waiting = 0;       // the waiting thread slept in the loader
  double working = 0;       // it ran there
  double pinning = 0;       // the pin-memory thread ran; 0 where there is none
};

LoaderThreads find_loader_threads(const Trace& trace, const StackReader& stacks, TimeSpan span);

}  // namespace synctrace
