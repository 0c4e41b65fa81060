// SPDX-License-Identifier: Apache-2.0
// Dense runs of launches: a thread that does little but launch short kernels, so that the device waits for the host.
// Eight launches or more with no wait among them, less than 50 us of host time between any two, and most of them
// shorter on the device than the host takes to the next launch.
#pragma once

#include <vector>

#include "attribution/host_timeline.h"
#include "attribution/sync_test.h"
#include "model/correlate.h"

namespace synctrace {

class LaunchRuns {
 public:
  LaunchRuns(const Trace& trace, const Correlation& correlation, const HostTimeline& host,
             const std::vector<Judgement>& judgements);

  // Whether the nanosecond before t lies in a run of the thread: from its first launch's begin to its last one's end.
  bool covers(HostTimeline::Index thread, Nanoseconds t) const;

 private:
  std::vector<std::vector<TimeSpan>> runs_;  // per thread
  mutable std::vector<std::size_t> cursors_;
};

}  // namespace synctrace
