// SPDX-License-Identifier: Apache-2.0
// How long a copy would take from pinned memory: as fast as the trace's own large pinned copies of its direction, or at
// 12 GB/s (a link of ten years' age) where there are none; never longer than it took.
#pragma once

#include <map>

#include "attribution/wait_table.h"
#include "model/trace.h"

namespace synctrace {

class LinkSpeed {
 public:
  explicit LinkSpeed(const Trace& trace) {
    constexpr std::uint64_t kLargeBytes = 1U << 20;
    for (const Operation& copy : trace.operations) {
      if (copy.kind != OperationKind::kCopy || copy.bytes < kLargeBytes || copy.span.empty()) continue;
      if (host_memory(copy.copy_kind, copy.source_memory, copy.target_memory) != MemoryKind::kPinned) continue;
      Sum& sum = sums_[copy.copy_kind];
      sum.bytes += static_cast<double>(copy.bytes);
      sum.ns += static_cast<double>(copy.span.length_ns());
    }
  }

  Nanoseconds pinned_length(const Operation& copy) const {
    constexpr double kDefaultBytesPerNs = 12;
    const auto found = sums_.find(copy.copy_kind);
    const double speed = found == sums_.end() ? kDefaultBytesPerNs : found->second.bytes / found->second.ns;
    const double length_ns = static_cast<double>(copy.bytes) / speed;
    return length_ns < static_cast<double>(copy.span.length_ns()) ? static_cast<Nanoseconds>(length_ns) : copy.span.length_ns();
  }

 private:
  struct Sum {
    double bytes = 0;
    double ns = 0;
  };
  std::map<CopyKind, Sum> sums_;
};

}  // namespace synctrace
