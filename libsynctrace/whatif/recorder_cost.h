// SPDX-License-Identifier: Apache-2.0
// What the recorder itself took of the host's time at each call: predictions are for the program without it. Measured
// as whole programs without us beside recorded ones (docs/measurements/cost.md): 3 to 5 us a launch in PyTorch, most of
// it CUPTI's, and 0.4 us in a tight loop of C++. In between lies other code, which leaves nothing of CUPTI's and ours
// in the first caches: the more host time before a call, the more that call costs.
#pragma once

#include <algorithm>
#include <cstdint>

#include "model/trace.h"

namespace synctrace {

class RecorderCost {
 public:
  struct OfCall {
    std::int16_t inside_ns = 0;  // of the call: never more than half of it,
    std::int16_t before_ns = 0;  // and of the host time before it, likewise
  };

  // Only a real recorder's: traces that were made, and the simulated GPU's, have no CUPTI that could take time.
  explicit RecorderCost(const Trace& trace)
      : counts_(trace.facts.contains("cupti_version") && !trace.facts.contains("simulated")) {}

  // Of a call of that length, and of the thread's time since its last call. `issues`: CUPTI made a record of GPU work
  // of it. `has_stack`: one was taken in front of it.
  OfCall of(Nanoseconds call_ns, Nanoseconds host_ns, bool issues, bool has_stack) const noexcept {
    constexpr Nanoseconds kStackNs = 2'600;
    if (!counts_) return {};
    const Nanoseconds before_ns = kBefore.behind(host_ns) + (has_stack ? kStackNs : 0);
    return {part(call_ns, (issues ? kWithRecord : kCallbacks).behind(host_ns)), part(host_ns, before_ns)};
  }

 private:
  struct ByCaches {
    Nanoseconds hot_ns;   // behind no other code,
    Nanoseconds cold_ns;  // and behind as much as this or more:
    static constexpr Nanoseconds kColdNs = 4'000;

    Nanoseconds behind(Nanoseconds host_ns) const noexcept {
      return hot_ns + (cold_ns - hot_ns) * std::clamp<Nanoseconds>(host_ns, 0, kColdNs) / kColdNs;
    }
  };
  static constexpr ByCaches kWithRecord{500, 3'500};
  static constexpr ByCaches kCallbacks{300, 400};
  static constexpr ByCaches kBefore{100, 800};

  static std::int16_t part(Nanoseconds whole_ns, Nanoseconds cost_ns) noexcept {
    return static_cast<std::int16_t>(std::clamp<Nanoseconds>(whole_ns / 2, 0, cost_ns));
  }

  bool counts_;
};

}  // namespace synctrace
