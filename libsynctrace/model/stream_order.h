// SPDX-License-Identifier: Apache-2.0
// What each piece of GPU work had to come after: the work issued before it to its stream, and the work that an event or
// the legacy default stream put before it. One sweep over issues and event calls; O(operations + event calls).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "model/correlate.h"
#include "model/trace.h"

namespace synctrace {

inline constexpr std::uint32_t kNoRow = 0xffff'ffff;

class StreamOrder {
 public:
  StreamOrder(const Trace& trace, const Correlation& correlation);

  // The operation issued last to the same stream before this one; kNoRow for the first.
  std::uint32_t predecessor(std::uint32_t operation) const noexcept { return predecessors_[operation]; }

  // The latest end of work in other streams that this one had to wait for.
  struct Dependency {
    std::uint32_t operation = 0;    // the one that waits
    std::uint32_t source = kNoRow;  // the one that it waits for
    std::uint32_t call = kNoRow;    // row of Trace::calls: the event's record; kNoRow for the default stream's rule
  };
  const Dependency* dependency(std::uint32_t operation) const noexcept;

 private:
  std::vector<std::uint32_t> predecessors_;
  std::vector<Dependency> dependencies_;  // by operation
};

}  // namespace synctrace
