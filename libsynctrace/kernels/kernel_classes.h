// SPDX-License-Identifier: Apache-2.0
// The classes of a trace's kernels, each name looked at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "kernels/kernel_class.h"
#include "model/trace.h"

namespace synctrace {

class KernelClasses {
 public:
  static constexpr std::size_t kMost = 256;  // classes that are met later count as unknown

  // The trace must outlive the object.
  explicit KernelClasses(const Trace& trace) : trace_(trace) {}

  // The number of the kernel's class in all().
  std::uint8_t of(StringId name);
  // At most kMost; the first is that of a kernel of which nothing is known.
  const std::vector<KernelClass>& all() const noexcept { return all_; }

 private:
  const Trace& trace_;
  std::vector<KernelClass> all_ = {{}};
  std::unordered_map<StringId, std::uint8_t> known_;
};

}  // namespace synctrace
