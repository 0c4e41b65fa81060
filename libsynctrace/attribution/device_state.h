// SPDX-License-Identifier: Apache-2.0
// What a device was doing at each moment of the recorded windows: a partition of the window, exact to the nanosecond.
//
//   COMPUTE    a kernel, a memset, a copy inside the device, or a graph runs
//   COPY_ONLY  none of these, but a transfer runs
//   IDLE       nothing runs, for this process
#pragma once

#include <map>
#include <vector>

#include "base/ids.h"
#include "base/time_span.h"

namespace synctrace {

struct Trace;

struct DeviceState {
  Nanoseconds window_ns = 0;
  Nanoseconds compute_ns = 0;
  Nanoseconds copy_only_ns = 0;
  Nanoseconds idle_ns = 0;
};

// One per device that has a context or an operation; none without a timeline. Guarantees
// compute + copy_only + idle == window for each.
std::map<DeviceId, DeviceState> device_states(const Trace& trace);

}  // namespace synctrace
