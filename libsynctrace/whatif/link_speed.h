// SPDX-License-Identifier: Apache-2.0
// The time that a copy would take from pinned memory. It is as fast as the trace's own large pinned copies of its
// direction, else of the other direction, else as the GPU's link allows; never longer than it took.
#pragma once

#include <array>

#include "attribution/wait_table.h"
#include "base/shares.h"
#include "model/trace.h"

namespace synctrace {

class LinkSpeed {
 public:
  explicit LinkSpeed(const Trace& trace) : trace_(trace) {
    constexpr std::uint64_t kLargeBytes = 1U << 20;
    for (const Operation& copy : trace.operations) {
      if (copy.kind != OperationKind::kCopy || copy.bytes < kLargeBytes || copy.span.empty()) continue;
      if (host_memory(copy.copy_kind, copy.source_memory, copy.target_memory) != MemoryKind::kPinned) continue;
      Sum& sum = sums_[to_device(copy.copy_kind)];
      sum.bytes += static_cast<double>(copy.bytes);
      sum.ns += static_cast<double>(copy.span.length_ns());
    }
  }

  bool is_measured() const noexcept { return sums_[0].ns > 0 || sums_[1].ns > 0; }

  Nanoseconds pinned_length(const Operation& copy) const {
    const double speed = is_measured() ? measured_speed(copy.copy_kind) : assumed_speed(copy.device);
    const double length_ns = static_cast<double>(copy.bytes) / speed;
    return length_ns < static_cast<double>(copy.span.length_ns()) ? static_cast<Nanoseconds>(length_ns)
                                                                  : copy.span.length_ns();
  }

 private:
  struct Sum {
    double bytes = 0;
    double ns = 0;
  };

  static bool to_device(CopyKind kind) noexcept {
    return kind == CopyKind::kHostToDevice || kind == CopyKind::kHostToArray;
  }

  double measured_speed(CopyKind kind) const {
    const Sum& own = sums_[to_device(kind)];
    const Sum& sum = own.ns > 0 ? own : sums_[!to_device(kind)];
    return sum.bytes / sum.ns;
  }

  // Bytes a ns of 16 lanes of the PCI Express that GPUs of that generation have, four fifths of which copies reach.
  double assumed_speed(DeviceId device) const {
    constexpr Share kReached = percent(80);
    constexpr double kThird = 15.75;
    constexpr double kFourth = 31.5;
    constexpr double kFifth = 63;
    const auto known = trace_.devices.find(device);
    const std::uint32_t capability = known == trace_.devices.end() ? 0 : known->second.capability_major;
    return kReached.of(capability >= 9 ? kFifth : capability == 8 ? kFourth : kThird);
  }

  const Trace& trace_;
  std::array<Sum, 2> sums_;  // to the host, to the device
};

}  // namespace synctrace
