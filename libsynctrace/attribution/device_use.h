// SPDX-License-Identifier: Apache-2.0
// Who else used a device, and how long its clocks were held down, in the time that a report is about: the ordinary
// steps, or else from the first to the last work. It rests on what NVML said in looks of half a second, so it says
// nothing of a single moment.
#pragma once

#include <cstdint>
#include <map>

#include "base/ids.h"
#include "base/time_span.h"

namespace synctrace {

struct Steps;
struct Trace;

struct DeviceUse {
  Nanoseconds looked_ns = 0;   // the part of that time with looks; the others are parts of it
  Nanoseconds busy_ns = 0;     // kernels of any process ran
  Nanoseconds others_ns = 0;   // kernels of other processes ran
  Nanoseconds power_ns = 0;    // clocks were held down to limit power
  Nanoseconds thermal_ns = 0;  // clocks were held down because of the temperature
  std::uint32_t others = 0;    // the most of these processes at one look

  // Enough to speak of: below 5 % of the time nothing is said.
  bool is_shared() const noexcept;
  bool is_power_limited() const noexcept;
  bool is_too_hot() const noexcept;
};

// One entry for each device that was looked at in that time.
std::map<DeviceId, DeviceUse> device_uses(const Trace& trace, const Steps& steps);

}  // namespace synctrace
