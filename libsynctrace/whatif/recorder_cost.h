// SPDX-License-Identifier: Apache-2.0
// What the recorder itself took of the host's time in each call: predictions are for the program without it. By type of
// event, as measured on one machine in processes that switched recording on and off (docs/measurements): a launch costs
// 0.4 us more in a loop of C++ and 1.0 to 1.4 us in a step of PyTorch, a small copy 0.9 us, a wait for nothing 0.5 us.
#pragma once

#include <algorithm>
#include <cstdint>

#include "model/trace.h"

namespace synctrace {

class RecorderCost {
 public:
  // Only a real recorder's: traces that were made, and the simulated GPU's, have no CUPTI that could take time.
  explicit RecorderCost(const Trace& trace)
      : counts_(trace.facts.contains("cupti_version") && !trace.facts.contains("simulated")) {}

  // Of a call of that length; `issues`: CUPTI made a record of GPU work of it. Never more than half of it.
  std::int32_t of_call(Nanoseconds length_ns, bool issues) const noexcept {
    constexpr Nanoseconds kCallbacksNs = 400;
    constexpr Nanoseconds kRecordNs = 600;
    if (!counts_) return 0;
    return static_cast<std::int32_t>(
        std::clamp<Nanoseconds>(length_ns / 2, 0, kCallbacksNs + (issues ? kRecordNs : 0)));
  }

 private:
  bool counts_;
};

}  // namespace synctrace
