// SPDX-License-Identifier: Apache-2.0
// The line of a launch without a stack. In a fast loop few launches have one. Where those of a kernel, between the same
// two calls, all came from one line of the program, the others of that kernel there come from it too.
#pragma once

#include <cstdint>
#include <vector>

#include "attribution/stack_traits.h"
#include "model/correlate.h"
#include "model/trace.h"

namespace synctrace {

class UsualLaunches {
 public:
  // Takes time for each launch only where some have a stack and others have none.
  UsualLaunches(const Trace& trace, const Correlation& correlation, const StackReader& stacks);

  bool any() const noexcept { return !stands_for_.empty(); }
  // A launch with a stack that stands for that one; itself: it has a stack, or none is known.
  std::uint32_t row_for(std::uint32_t launch) const noexcept {
    return launch < stands_for_.size() ? stands_for_[launch] : launch;
  }

 private:
  std::vector<std::uint32_t> stands_for_;  // one for each launch, or empty
};

}  // namespace synctrace
