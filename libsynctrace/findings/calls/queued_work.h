// SPDX-License-Identifier: Apache-2.0
// Whether a wait costs anything: while it ends, the GPU may have work for longer than the host needs to issue more.
#pragma once

#include <map>
#include <vector>

#include "base/ids.h"
#include "base/time_span.h"
#include "model/trace.h"

namespace synctrace {

class QueuedWork {
 public:
  // O(n) in the work and the launches; needs a timeline, else nothing outlasts.
  explicit QueuedWork(const Trace& trace);

  // Whether the GPU of that context computes at `t`, and goes on until the host issues more. A copy is no such work: it
  // may be what the host waits for.
  bool outlasts(ContextId context, Nanoseconds t) const;

 private:
  const Trace& trace_;
  std::map<DeviceId, std::vector<TimeSpan>> busy_;  // in order, apart
  std::vector<Nanoseconds> issues_;                 // in order
};

}  // namespace synctrace
