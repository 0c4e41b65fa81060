// SPDX-License-Identifier: Apache-2.0
// Which kernels took how long, and from where the host launched them.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "kernels/kernel_class.h"
#include "model/correlate.h"
#include "model/trace.h"

namespace synctrace {

struct KernelTime {
  StackId stack{};  // the launch's; zero: not known
  KernelClass what;
  Nanoseconds device_ns = 0;
  std::uint64_t count = 0;
};

struct KernelTimes {
  std::vector<KernelTime> rows;
  Nanoseconds device_ns = 0;
  bool normalises_groups = false;  // some kernels are of torch.nn.GroupNorm
  bool any_embedding = false;      // some form the gradient of torch.nn.Embedding

  // The time of some of them.
  Nanoseconds sum(const std::function<bool(const KernelClass&)>& counts) const;
};

// Looks at so many operations in the middle of the trace at most, which stand for all.
KernelTimes kernel_times(const Trace& trace, const Correlation& correlation);

}  // namespace synctrace
