// SPDX-License-Identifier: Apache-2.0
// The kernels in which a GPU exchanges data with other ranks. Such a kernel also runs while it waits for them, so its
// time is not the GPU's own work.
#pragma once

#include <string_view>
#include <unordered_map>

#include "model/trace.h"

namespace synctrace {

// Tells by the kernel's name, mangled or not: NCCL's and NVSHMEM's.
bool is_collective_kernel(std::string_view name) noexcept;

// Remembers names that it was asked about. The trace must outlive it.
class CollectiveKernels {
 public:
  explicit CollectiveKernels(const Trace& trace) : trace_(trace) {}
  bool is(const Operation& operation);

 private:
  const Trace& trace_;
  std::unordered_map<StringId, bool> known_;
  StringId last_{};
  bool last_is_ = false;
};

}  // namespace synctrace
