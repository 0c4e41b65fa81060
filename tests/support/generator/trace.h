// SPDX-License-Identifier: Apache-2.0
// A played run as a recorder would have written it: trace bytes, through the format's own writer. Options say what the
// recorder misses or gets wrong; the run's truth stays what it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "support/generator/run.h"

namespace synctrace::testing::generator {

struct Recording {
  enum class Samples : std::uint8_t {
    kNone,
    kDense,     // from the begin of each stretch of host time to its end
    kPeriodic,  // every 2 ms
  };
  Samples samples = Samples::kDense;
  bool wakers = true;
  bool host_waits = true;
  bool launch_stacks = true;
  Nanoseconds skew_ns = 0;          // the GPU's clock is ahead by this much at the begin
  Nanoseconds drift_ns_per_ms = 0;  // and by this much more every millisecond
  Nanoseconds shift_ns = 0;         // of all times
  std::uint32_t rename = 0;         // added to every id of a thread, context or stream
};

std::vector<std::byte> trace_of(const Program& program, const Run& run, const Recording& recording);

// The stack of a place, and back.
constexpr StackId stack_of_place(std::uint32_t place) { return StackId{place + 1}; }

}  // namespace synctrace::testing::generator
