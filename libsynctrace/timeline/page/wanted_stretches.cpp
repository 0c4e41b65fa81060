// SPDX-License-Identifier: Apache-2.0
#include "timeline/page/wanted_stretches.h"

#include <algorithm>
#include <cstdlib>

#include "attribution/attribute.h"
#include "steps/step_lengths.h"

namespace synctrace::page {
namespace {

constexpr std::size_t kCausesOfDevice = 3;
constexpr Nanoseconds kAroundNs = 2'000'000;
constexpr Nanoseconds kLongestAroundNs = 200'000'000;

constexpr std::size_t kStepsInRow = 3;

// Typical ones, and the longest irregular one.
void add_steps(const Attribution& attribution, const Report& report, std::vector<TimeSpan>& wanted) {
  if (const TimeSpan typical = typical_steps(attribution, report); typical.length_ns() > 0) wanted.push_back(typical);
  const Step* worst = nullptr;
  for (const Step& step : attribution.steps.steps) {
    if (step.kind == StepKind::kIrregular && (worst == nullptr || step.length_ns > worst->length_ns)) worst = &step;
  }
  if (worst != nullptr) wanted.push_back({worst->host.begin_ns, std::max(worst->host.end_ns, worst->done_ns)});
}

}  // namespace

TimeSpan typical_steps(const Attribution& attribution, const Report& report) {
  const std::vector<Step>& steps = attribution.steps.steps;
  const Nanoseconds median_ns = report.steps.figures.p50_ns;
  const Step* first = nullptr;
  std::size_t count = 0;
  Nanoseconds best_ns = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    Nanoseconds off_ns = 0;
    std::size_t in_row = 0;
    const auto goes_on = [&](std::size_t next) {
      return next < steps.size() && steps[next].kind == StepKind::kSteady && (next == i || !begins_anew(steps, next));
    };
    for (; in_row < kStepsInRow && goes_on(i + in_row); ++in_row)
      off_ns = add_saturated(off_ns, std::abs(steps[i + in_row].length_ns - median_ns));
    if (in_row < count || in_row == 0 || (in_row == count && off_ns >= best_ns)) continue;
    first = &steps[i];
    count = in_row;
    best_ns = off_ns;
  }
  if (first == nullptr) return {};
  // Their work may end later than the host's part, though not by more than a step if it is to be seen with them.
  const Step& last = first[count - 1];
  const bool ends_soon = last.done_ns > last.host.end_ns && last.done_ns - last.host.end_ns < median_ns;
  return {first->host.begin_ns, ends_soon ? last.done_ns : last.host.end_ns};
}

std::vector<TimeSpan> wanted_stretches(const Attribution& attribution, const Report& report,
                                       const std::vector<DeviceOccurrences>& occurrences) {
  std::vector<TimeSpan> wanted;
  add_steps(attribution, report, wanted);
  for (std::size_t i = 0; i < occurrences.size(); ++i) {
    std::size_t taken = 0;
    for (std::size_t row = 0; row < occurrences[i].idle.size() && taken < kCausesOfDevice; ++row) {
      const std::vector<TimeSpan>& spans = occurrences[i].idle[row].longest;
      if (spans.empty() || is_edge(report.devices[i].causes[row].kind)) continue;
      const TimeSpan longest = *std::max_element(spans.begin(), spans.end(),
                                                 [](TimeSpan a, TimeSpan b) { return a.length_ns() < b.length_ns(); });
      if (longest.length_ns() > kLongestAroundNs) continue;
      wanted.push_back({longest.begin_ns - kAroundNs, longest.end_ns + kAroundNs});
      ++taken;
    }
  }
  return wanted;
}

}  // namespace synctrace::page
