// SPDX-License-Identifier: Apache-2.0
#include "findings/gpu_work/kernel_times.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace synctrace {
namespace {

constexpr std::uint32_t kMostOperationsSeen = 500'000;

class Names {
 public:
  explicit Names(const Trace& trace) : trace_(trace) {}

  // Its number in `classes`.
  std::uint32_t class_of(StringId name) {
    const auto [entry, is_new] = known_.try_emplace(name, 0);
    if (!is_new) return entry->second;
    const auto text = trace_.strings.find(name);
    const KernelClass what = text == trace_.strings.end() ? KernelClass() : kernel_class(text->second);
    normalises_groups =
        normalises_groups || (text != trace_.strings.end() && text->second.find("GroupNorm") != std::string::npos);
    auto found = std::find(classes.begin(), classes.end(), what);
    if (found == classes.end()) found = classes.insert(classes.end(), what);
    return entry->second = static_cast<std::uint32_t>(found - classes.begin());
  }

  std::vector<KernelClass> classes;
  bool normalises_groups = false;

 private:
  const Trace& trace_;
  std::unordered_map<StringId, std::uint32_t> known_;
};

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
  Names names(trace);
  std::unordered_map<std::uint64_t, std::size_t> rows;
  KernelTimes times;
  for (std::uint32_t i = first; i < first + std::min(count, kMostOperationsSeen); ++i) {
    const Operation& operation = trace.operations[i];
    if (operation.kind != OperationKind::kKernel) continue;
    const StackId stack = stack_of(trace, correlation.issuer_of(i));
    const std::uint32_t what = names.class_of(operation.name);
    const auto [entry, is_new] = rows.try_emplace(std::uint64_t{number(stack)} << 32 | what, times.rows.size());
    if (is_new) times.rows.push_back({stack, names.classes[what], 0});
    Nanoseconds& device_ns = times.rows[entry->second].device_ns;
    device_ns = add_saturated(device_ns, operation.span.length_ns());
    times.device_ns = add_saturated(times.device_ns, operation.span.length_ns());
  }
  times.normalises_groups = names.normalises_groups;
  return times;
}

}  // namespace synctrace
