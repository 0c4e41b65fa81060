// SPDX-License-Identifier: Apache-2.0
// How fast a device takes up work, measured inside the trace: from the begin of a launch to the start of its work when
// nothing was in its way, and from one piece of work to the next that was already queued.
#pragma once

#include <map>

#include "model/correlate.h"
#include "model/stream_order.h"
#include "model/trace.h"

namespace synctrace {

// Until measured (fewer than kFewestSamples): orders of magnitude of CUDA 12 and 13.
struct DevicePace {
  Nanoseconds latency_p10_ns = 3'000;  // from a launch into an idle stream to its begin
  Nanoseconds latency_p50_ns = 6'000;
  Nanoseconds latency_p95_ns = 20'000;
  Nanoseconds pause_p50_ns = 1'000;  // between queued pieces of work of one stream
  Nanoseconds pause_p95_ns = 3'000;
  std::size_t latency_samples = 0;
  std::size_t pause_samples = 0;
};

// One per device with work. Launches only: a copy's start depends on what the call does first.
std::map<DeviceId, DevicePace> device_paces(const Trace& trace, const Correlation& correlation,
                                            const StreamOrder& order);

}  // namespace synctrace
