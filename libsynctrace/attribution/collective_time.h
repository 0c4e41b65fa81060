// SPDX-License-Identifier: Apache-2.0
// When a device did nothing but exchange data with other ranks, or wait for them: collectives ran, and no other kernel,
// memset, copy inside the device, or graph. A part of the time that device_state.h counts as compute.
#pragma once

#include <cstdint>
#include <functional>
#include <map>

#include "base/ids.h"
#include "base/time_span.h"

namespace synctrace {

class Correlation;
class DeviceRows;
struct Steps;
struct Trace;

struct CollectiveTime {
  Nanoseconds only_ns = 0;        // nothing but collectives ran
  Nanoseconds in_steps_ns = 0;    // its part in ordinary steps
  std::uint64_t collectives = 0;  // kernels
};

// Visits every such stretch inside the recorded windows in order of time, with the row of a collective that ran in it.
// `operations`: the rows of one device, by begin.
void for_each_collective_stretch(const Trace& trace, const DeviceRows& operations,
                                 const std::function<void(TimeSpan, std::uint32_t)>& see);

// One entry for each device that ran a collective.
std::map<DeviceId, CollectiveTime> collective_times(const Trace& trace, const Correlation& correlation,
                                                    const Steps& steps);

}  // namespace synctrace
