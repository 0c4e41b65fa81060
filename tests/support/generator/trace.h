// SPDX-License-Identifier: Apache-2.0
// A played run as a recorder would have written it: trace bytes, through the format's own writer. Options say what the
// recorder misses or gets wrong; the run's truth stays what it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
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
  Nanoseconds shift_ns = 0;         // added to all times
  std::uint32_t rename = 0;         // added to every id of a thread, context or stream

  // Writes like a recorder: what ended in each round, then a clock record, in a chunk of its own. 0: all at once.
  Nanoseconds round_ns = 0;
  // What is dropped, and reported in its round. Rounds only.
  std::function<bool(const HostEvent&)> drops_host;
  std::function<bool(const DeviceEvent&)> drops_device;
};

std::vector<std::byte> trace_of(const Program& program, const Run& run, const Recording& recording);

// The stack of a place, and back.
constexpr StackId stack_of_place(std::uint32_t place) { return StackId{place + 1}; }

}  // namespace synctrace::testing::generator
