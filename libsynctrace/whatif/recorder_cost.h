// SPDX-License-Identifier: Apache-2.0
// The recorder's own part of the host's time at each call, and of the GPU's at each piece of work: predictions are for
// the program without it. Measured as whole programs without us beside recorded ones (docs/measurements/cost.md): 3 us
// a launch in PyTorch's loops over parameters, 4 to 7 where 20 us of other code lie between launches, and 0.4 us in a
// tight loop of C++. Other code leaves less and less of CUPTI's and ours in the caches, and we of the program's. That
// differs from host to host; the length of launches in the trace tells it.
#pragma once

#include <cstdint>

#include "model/trace.h"

namespace synctrace {

class RecorderCost {
 public:
  struct OfCall {
    std::int16_t inside_ns = 0;  // a part of the call,
    std::int16_t before_ns = 0;  // and a part of the host time before it: never more than half
  };

  // Only a real recorder's: traces that were made, and the simulated GPU's, have no CUPTI that could take time.
  explicit RecorderCost(const Trace& trace);

  // The cost at a call of that length, with that much of the thread's time since its last call. `issues`: CUPTI made a
  // record of its GPU work. `has_stack`: a stack was taken in front of it.
  OfCall of(Nanoseconds call_ns, Nanoseconds host_ns, bool issues, bool has_stack) const noexcept;
  // Time before the work starts, in ns: the GPU writes its time stamps.
  std::int16_t of_work(const Operation& work) const noexcept;

 private:
  struct ByCaches {
    Nanoseconds hot_ns = 0;     // behind no other code,
    Nanoseconds cold_ns = 0;    // behind kColdNs of it,
    Nanoseconds colder_ns = 0;  // and behind kColderNs of it or more

    Nanoseconds behind(Nanoseconds host_ns) const noexcept;
  };

  bool counts_;
  ByCaches inside_;  // a call with a record,
  ByCaches before_;
  Nanoseconds stack_ns_;
};

}  // namespace synctrace
