// SPDX-License-Identifier: Apache-2.0
#include "model/collective_kernels.h"

#include <algorithm>
#include <array>

namespace synctrace {
namespace {

constexpr std::array<std::string_view, 4> kPrefixes = {"ncclDevKernel", "ncclKernel", "ncclSymk", "nvshmem"};

}  // namespace

bool is_collective_kernel(std::string_view name) noexcept {
  // "_Z34ncclDevKernel_AllReduce_Sum_f32_..." begins with the length of the name.
  if (name.starts_with("_Z")) {
    name.remove_prefix(2);
    const std::size_t length = name.find_first_not_of("0123456789");
    name.remove_prefix(std::min(length, name.size()));
  }
  return std::any_of(kPrefixes.begin(), kPrefixes.end(), [&](std::string_view one) { return name.starts_with(one); });
}

bool CollectiveKernels::is(const Operation& operation) {
  if (operation.kind != OperationKind::kKernel || operation.name == StringId{}) return false;
  if (operation.name == last_) return last_is_;
  const auto [known, is_new] = known_.try_emplace(operation.name, false);
  if (is_new) {
    const auto text = trace_.strings.find(operation.name);
    known->second = text != trace_.strings.end() && is_collective_kernel(text->second);
  }
  last_ = operation.name;
  return last_is_ = known->second;
}

}  // namespace synctrace
