// SPDX-License-Identifier: Apache-2.0
#include "gate/scope.h"

#include <algorithm>
#include <iterator>

#include "base/shown_text.h"

namespace synctrace {

Scope::Scope(const Attribution& attribution, const Surroundings& surroundings, const GateConfig& config)
    : surroundings_(surroundings), config_(config) {
  // The period of the work is a good guess for a report, but no ground for a verdict.
  const bool found = attribution.steps.source != StepSource::kNone && attribution.steps.source != StepSource::kPeriodicity;
  if (!surroundings.steps().empty() && config.step_range.empty()) {
    steps_ = surroundings.steps();
    source_ = "nvtx";
    name_ = std::string(kAnnotationDomain) + ":step";
  } else if (found) {
    for (const Step& step : attribution.steps.steps) steps_.push_back(step.host);
    source_ = step_source_name(attribution.steps.source);
    name_ = printable(attribution.steps.name);
  }
}

bool Scope::judges(Nanoseconds t, bool strict, std::uint32_t& step) const {
  step = kNone;
  if (surroundings_.is_excluded(t)) return false;
  const auto after = std::upper_bound(steps_.begin(), steps_.end(), t, [](Nanoseconds time, TimeSpan span) { return time < span.begin_ns; });
  if (after != steps_.begin() && std::prev(after)->contains(t)) {
    const auto index = static_cast<std::size_t>(std::prev(after) - steps_.begin());
    if (index < config_.steps.first || index >= config_.steps.last) return false;
    step = static_cast<std::uint32_t>(index);
  }
  if (strict) return true;
  return !config_.only_zones && (steps_.empty() || step != kNone);
}

void Scope::describe(Observation& out) const {
  out.step_source = source_;
  out.step_name = name_;
  out.steps = steps_.size();
  const std::size_t last = std::min(config_.steps.last, steps_.size());
  out.judged_steps = last - std::min(config_.steps.first, last);
  for (std::size_t i = last - out.judged_steps; i < last; ++i) out.step_lengths.push_back(steps_[i].length_ns());
}

}  // namespace synctrace
