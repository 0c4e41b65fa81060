// SPDX-License-Identifier: Apache-2.0
// Threads that sleep until GPU work ends without any CUDA call (JAX), and queries that spin until it does: found, as
// waits in CUDA calls are, by behaviour. A sleep waited for the GPU when it returned just after the end of a stream's
// work, or when a thread without calls of its own ended it after work behind which a host function stood; and 80 % of
// the sleeps at its place that met work did. A sleep that was ended by a thread just back from such a sleep waited for
// the same work (relay). Whom else a thread with CUDA calls of its own woke is not judged: that thread's doings explain
// it better. The threads of a pool sleep at one place for tasks of each other and for the GPU: where half of those that
// no such thread ended fit, they count as far as they are handed on to Python.
#pragma once

#include <cstdint>
#include <vector>

#include "attribution/host_timeline.h"
#include "attribution/stack_traits.h"
#include "model/calibrate.h"
#include "model/correlate.h"

namespace synctrace {

struct GpuSleep {
  bool waited = false;
  bool of_pool = false;  // in a pool's thread: of no meaning unless handed on to Python
  DeviceId device{};
  Nanoseconds work_end_ns = 0;
  // A sleep of a library's thread for the sake of one that runs Python and slept meanwhile: that one's row. Else its
  // own.
  std::uint32_t owner = 0;
};

struct GpuSleeps {
  std::vector<GpuSleep> host_waits;  // one per row of Trace::host_waits
  std::vector<GpuSleep> polls;       // one per row of Trace::polls
};

GpuSleeps find_gpu_sleeps(const Trace& trace, const Correlation& correlation, const HostTimeline& host,
                          const Calibration& calibration, const StackReader& stacks);

// Queries that came back unsuccessful at least this often in a row are a wait; fewer are a glance.
inline constexpr std::uint64_t kFewestQueriesOfAWait = 3;

// Whether a run of queries was a wait, by what it is: known without a timeline too. Which work it waited for, GpuSleep
// says.
inline bool is_wait(const Poll& poll) noexcept { return poll.not_ready_count >= kFewestQueriesOfAWait; }

}  // namespace synctrace
