// SPDX-License-Identifier: Apache-2.0
#include "steps/run_times.h"

#include <algorithm>
#include <utility>

namespace synctrace {
namespace {

// A step and whether it is one of the reported phase.
using PhaseStep = std::pair<Step*, bool>;

std::vector<PhaseStep> in_order(Steps& reported, std::vector<Steps>& others) {
  std::vector<PhaseStep> steps;
  for (Step& step : reported.steps) steps.emplace_back(&step, true);
  for (Steps& phase : others) {
    for (Step& step : phase.steps) steps.emplace_back(&step, false);
  }
  std::stable_sort(steps.begin(), steps.end(), [](const PhaseStep& a, const PhaseStep& b) {
    return a.first->host.begin_ns < b.first->host.begin_ns;
  });
  return steps;
}

}  // namespace

Nanoseconds RunTimes::sum() const noexcept {
  return before_ns + warm_up_ns + ordinary_ns + irregular_ns + others_ns + between_ns + after_ns;
}

RunTimes run_times(Steps& reported, std::vector<Steps>& others, TimeSpan recording) {
  RunTimes times;
  Nanoseconds until_ns = recording.begin_ns;
  bool is_first = true;
  for (const auto& [step, is_reported] : in_order(reported, others)) {
    const Nanoseconds end_ns = std::clamp(step->from_ns + step->length_ns, until_ns, recording.end_ns);
    step->from_ns = std::clamp(step->from_ns, until_ns, end_ns);
    step->length_ns = end_ns - step->from_ns;
    (std::exchange(is_first, false) ? times.before_ns : times.between_ns) += step->from_ns - until_ns;
    until_ns = end_ns;
    switch (step->kind) {
      case StepKind::kWarmUp: times.warm_up_ns += step->length_ns; break;
      case StepKind::kIrregular: (is_reported ? times.irregular_ns : times.others_ns) += step->length_ns; break;
      default: (is_reported ? times.ordinary_ns : times.others_ns) += step->length_ns;
    }
  }
  (is_first ? times.before_ns : times.after_ns) = recording.end_ns - until_ns;
  return times;
}

}  // namespace synctrace
