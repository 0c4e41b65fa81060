// SPDX-License-Identifier: Apache-2.0
#include "findings/gpu_work/kernel_times.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>

#include "kernels/kernel_classes.h"

namespace synctrace {
namespace {

constexpr std::uint32_t kMostOperationsSeen = 500'000;

bool has_name_with(const Trace& trace, std::string_view part) {
  return std::any_of(trace.strings.begin(), trace.strings.end(),
                     [&](const auto& one) { return one.second.find(part) != std::string::npos; });
}

StackId stack_of(const Trace& trace, const std::optional<Correlation::Issuer>& issuer) {
  return issuer && issuer->is_launch ? trace.launches[issuer->row].stack : StackId{};
}

}  // namespace

Nanoseconds KernelTimes::sum(const std::function<bool(const KernelClass&)>& counts) const {
  Nanoseconds sum_ns = 0;
  for (const KernelTime& row : rows) {
    if (counts(row.what)) sum_ns = add_saturated(sum_ns, row.device_ns);
  }
  return sum_ns;
}

KernelTimes kernel_times(const Trace& trace, const Correlation& correlation) {
  const auto count = static_cast<std::uint32_t>(trace.operations.size());
  const std::uint32_t first = count > kMostOperationsSeen ? (count - kMostOperationsSeen) / 2 : 0;
  KernelClasses classes(trace);
  std::unordered_map<std::uint64_t, std::size_t> rows;
  KernelTimes times;
  for (std::uint32_t i = first; i < first + std::min(count, kMostOperationsSeen); ++i) {
    const Operation& operation = trace.operations[i];
    if (operation.kind != OperationKind::kKernel) continue;
    const StackId stack = stack_of(trace, correlation.issuer_of(i));
    const std::uint8_t what = classes.of(operation.name);
    const auto [entry, is_new] = rows.try_emplace(std::uint64_t{number(stack)} << 32 | what, times.rows.size());
    if (is_new) times.rows.push_back({stack, classes.all()[what], 0, 0});
    KernelTime& row = times.rows[entry->second];
    row.device_ns = add_saturated(row.device_ns, operation.span.length_ns());
    ++row.count;
    times.device_ns = add_saturated(times.device_ns, operation.span.length_ns());
  }
  times.normalises_groups = has_name_with(trace, "GroupNorm");
  times.any_embedding = has_name_with(trace, "embedding_backward") || has_name_with(trace, "compute_grad_weight");
  return times;
}

}  // namespace synctrace
