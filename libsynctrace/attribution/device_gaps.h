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

// The rows of Trace::operations of one device, by begin. Where all are of one device they need no table.
class DeviceRows {
 public:
  std::size_t size() const noexcept { return count_; }
  std::uint32_t operator[](std::size_t i) const noexcept {
    return rows_.empty() ? static_cast<std::uint32_t>(i) : rows_[i];
  }

 private:
  friend std::map<DeviceId, DeviceRows> operations_by_device(const Trace& trace);
  std::size_t count_ = 0;
  std::vector<std::uint32_t> rows_;  // none: all of the trace, or none at all
};

// One entry for each device that has a context or work.
std::map<DeviceId, DeviceRows> operations_by_device(const Trace& trace);

// A copy other than within the device.
inline bool is_transfer(const Operation& operation) noexcept {
  return operation.kind == OperationKind::kCopy && operation.copy_kind != CopyKind::kDeviceToDevice;
}

// Calls visit(gaps) once for each stretch without compute that has any, in order of time: memory stays that of the
// longest such stretch. Its copying gaps share their opener.
void for_each_gap_group(const Trace& trace, const Correlation& correlation, const DeviceRows& operations,
                        const std::function<void(std::span<const Gap>)>& visit);

}  // namespace synctrace
