// SPDX-License-Identifier: Apache-2.0
// The gaps in a device's work inside the recorded windows, in order of time, each with the operation that ended it:
//   idle     nothing runs; ended by whatever starts next
//   copying  only transfers run; ended by the next kernel, memset, copy inside the device, or graph
#pragma once

#include <functional>
#include <map>
#include <span>
#include <vector>

#include "model/correlate.h"
#include "model/stream_order.h"

namespace synctrace {

struct Gap {
  TimeSpan span;
  std::uint32_t opener = kNoRow;  // kNoRow: nothing came after it
  bool copying = false;
  bool before_first = false;  // no operation of the device was recorded before
  bool at_window_begin = false;
  bool at_window_end = false;
};

// The rows of Trace::operations of each device that has a context or work, by begin.
std::map<DeviceId, std::vector<std::uint32_t>> operations_by_device(const Trace& trace);

bool is_transfer(const Operation& operation) noexcept;  // a copy other than within the device

// Calls visit(gaps) once for each stretch without compute that has any, in order of time: memory stays that of the
// longest such stretch. Its copying gaps share their opener.
void for_each_gap_group(const Trace& trace, const Correlation& correlation,
                        const std::vector<std::uint32_t>& operations,
                        const std::function<void(std::span<const Gap>)>& visit);

}  // namespace synctrace
