// SPDX-License-Identifier: Apache-2.0
#include "attribution/collective_time.h"

#include <algorithm>

#include "attribution/device_gaps.h"
#include "model/collective_kernels.h"
#include "steps/steps.h"

namespace synctrace {
namespace {

class StretchFinder {
 public:
  StretchFinder(const Trace& trace, const std::function<void(TimeSpan, std::uint32_t)>& see)
      : trace_(trace), kernels_(trace), see_(see) {}

  void add(std::uint32_t row) {
    const Operation& operation = trace_.operations[row];
    if (is_transfer(operation)) return;
    settle(operation.span.begin_ns);
    if (!kernels_.is(operation)) {
      compute_end_ns_ = std::max(compute_end_ns_, operation.span.end_ns);
    } else if (operation.span.end_ns > collective_end_ns_) {
      collective_end_ns_ = operation.span.end_ns;
      collective_ = row;
    }
  }
  void finish() { settle(kLatestTime); }

 private:
  // [settled_ns_, until_ns) is compute up to the end of the last compute, then collectives.
  void settle(Nanoseconds until_ns) {
    const Nanoseconds from_ns = std::clamp(compute_end_ns_, settled_ns_, until_ns);
    show({from_ns, std::clamp(collective_end_ns_, from_ns, until_ns)});
    settled_ns_ = until_ns;
  }

  void show(TimeSpan span) {
    if (span.empty()) return;
    while (window_ < trace_.windows.size() && trace_.windows[window_].span.end_ns <= span.begin_ns) ++window_;
    for (std::size_t i = window_; i < trace_.windows.size() && trace_.windows[i].span.begin_ns < span.end_ns; ++i) {
      const TimeSpan recorded = intersect(span, trace_.windows[i].span);
      if (!recorded.empty()) see_(recorded, collective_);
    }
  }

  const Trace& trace_;
  CollectiveKernels kernels_;
  const std::function<void(TimeSpan, std::uint32_t)>& see_;
  std::size_t window_ = 0;
  std::uint32_t collective_ = kNoRow;
  Nanoseconds settled_ns_ = 0;
  Nanoseconds compute_end_ns_ = 0;
  Nanoseconds collective_end_ns_ = 0;
};

}  // namespace

void for_each_collective_stretch(const Trace& trace, const DeviceRows& operations,
                                 const std::function<void(TimeSpan, std::uint32_t)>& see) {
  StretchFinder finder(trace, see);
  for (std::size_t i = 0; i < operations.size(); ++i) finder.add(operations[i]);
  finder.finish();
}

std::map<DeviceId, CollectiveTime> collective_times(const Trace& trace, const Correlation& correlation,
                                                    const Steps& steps) {
  std::map<DeviceId, CollectiveTime> times;
  const bool is_alone = std::none_of(trace.strings.begin(), trace.strings.end(),
                                     [](const auto& string) { return is_collective_kernel(string.second); });
  if (is_alone) return times;
  CollectiveKernels kernels(trace);
  for (const Operation& operation : trace.operations) {
    if (kernels.is(operation)) ++times[operation.device].collectives;
  }
  if (times.empty()) return times;
  for (const auto& [device, operations] : operations_by_device(trace)) {
    const auto time = times.find(device);
    if (time == times.end()) continue;
    std::size_t cursor = 0;
    for_each_collective_stretch(trace, operations, [&](TimeSpan span, std::uint32_t collective) {
      time->second.only_ns += span.length_ns();
      if (steps.kind_at(correlation.issued_ns(collective), cursor) == StepKind::kSteady)
        time->second.in_steps_ns += span.length_ns();
    });
  }
  return times;
}

}  // namespace synctrace
