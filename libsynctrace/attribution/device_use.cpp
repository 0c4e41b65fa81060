// SPDX-License-Identifier: Apache-2.0
#include "attribution/device_use.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/merged_spans.h"
#include "base/shares.h"
#include "model/trace.h"
#include "steps/steps.h"

namespace synctrace {
namespace {

constexpr Share kWorthSaying = percent(5);

bool is_worth_saying(Nanoseconds ns, Nanoseconds of_ns) noexcept {
  return of_ns > 0 && ratio(ns, of_ns) >= kWorthSaying;
}

// How much of a span lies in disjoint ones.
class Cover {
 public:
  explicit Cover(std::vector<TimeSpan> spans) : spans_(merged(std::move(spans))) {
    Nanoseconds sum_ns = 0;
    for (const TimeSpan span : spans_) {
      before_ns_.push_back(sum_ns);
      sum_ns += span.length_ns();
    }
  }

  Nanoseconds of(TimeSpan span) const { return until(span.end_ns) - until(span.begin_ns); }

 private:
  Nanoseconds until(Nanoseconds t) const {
    const auto next = std::upper_bound(spans_.begin(), spans_.end(), t,
                                       [](Nanoseconds time_ns, TimeSpan one) { return time_ns < one.begin_ns; });
    if (next == spans_.begin()) return 0;
    const auto row = static_cast<std::size_t>(next - spans_.begin()) - 1;
    return before_ns_[row] + std::min(t, spans_[row].end_ns) - spans_[row].begin_ns;
  }

  std::vector<TimeSpan> spans_;
  std::vector<Nanoseconds> before_ns_;
};

std::vector<TimeSpan> ordinary_steps(const Steps& steps) {
  std::vector<TimeSpan> spans;
  for (const Step& step : steps.steps) {
    if (step.kind == StepKind::kSteady) spans.push_back({step.from_ns, add_saturated(step.from_ns, step.length_ns)});
  }
  return spans;
}

// From the first to the last work of any device. Without a timeline all of the recording.
TimeSpan time_at_work(const Trace& trace) {
  if (trace.operations.empty()) return {trace.first_ns, trace.last_ns};
  TimeSpan span = trace.operations.front().span;
  for (const Operation& operation : trace.operations) span.end_ns = std::max(span.end_ns, operation.span.end_ns);
  return span;
}

// Looks of a damaged trace may overlap: a sum that is too large is bounded by what was looked at.
void add_part(Nanoseconds ns, Nanoseconds inside_ns, const GpuUse& use, Nanoseconds& sum_ns) {
  const double share = static_cast<double>(ns) / static_cast<double>(use.span.length_ns());
  sum_ns = add_saturated(sum_ns, std::min(inside_ns, static_cast<Nanoseconds>(share * static_cast<double>(inside_ns))));
}

}  // namespace

bool DeviceUse::is_shared() const noexcept { return is_worth_saying(others_ns, looked_ns); }
bool DeviceUse::is_power_limited() const noexcept { return is_worth_saying(power_ns, looked_ns); }
bool DeviceUse::is_too_hot() const noexcept { return is_worth_saying(thermal_ns, looked_ns); }

std::map<DeviceId, DeviceUse> device_uses(const Trace& trace, const Steps& steps) {
  std::map<DeviceId, DeviceUse> result;
  if (trace.gpu_uses.empty()) return result;
  std::vector<TimeSpan> spans = ordinary_steps(steps);
  if (spans.empty()) spans.push_back(time_at_work(trace));
  const Cover cover(std::move(spans));
  for (const GpuUse& use : trace.gpu_uses) {
    const Nanoseconds inside_ns = cover.of(use.span);
    if (inside_ns <= 0) continue;
    DeviceUse& device = result[use.device];
    device.looked_ns = add_saturated(device.looked_ns, inside_ns);
    device.others = std::max(device.others, use.others);
    add_part(use.busy_ns, inside_ns, use, device.busy_ns);
    add_part(use.others_ns, inside_ns, use, device.others_ns);
    add_part(use.power_ns, inside_ns, use, device.power_ns);
    add_part(use.thermal_ns, inside_ns, use, device.thermal_ns);
  }
  return result;
}

}  // namespace synctrace
