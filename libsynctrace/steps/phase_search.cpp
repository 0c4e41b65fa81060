// SPDX-License-Identifier: Apache-2.0
#include "steps/phase_search.h"

#include <algorithm>

#include "steps/step_lengths.h"

namespace synctrace {

PhaseSearch::PhaseSearch(const Steps& reported, const std::vector<Steps>& others)
    : reported_(reported), others_(others), cursors_(others.size()) {
  bool is_first = true;
  const auto add = [&](const Steps& steps) {
    if (steps.steps.empty()) return;
    const TimeSpan span{steps.steps.front().host.begin_ns, steps.steps.back().host.end_ns};
    all_ = is_first ? span : TimeSpan{std::min(all_.begin_ns, span.begin_ns), std::max(all_.end_ns, span.end_ns)};
    is_first = false;
  };
  add(reported);
  for (const Steps& steps : others) add(steps);
}

PhaseSearch::At PhaseSearch::at(Nanoseconds t) {
  const StepKind kind = reported_.kind_at(t, cursor_);
  if (kind != StepKind::kOutside) return {kind, kNoPhase, own_from(reported_, cursor_)};
  if (!all_.contains(t)) return {};
  for (std::uint32_t i = 0; i < others_.size(); ++i) {
    const StepKind there = others_[i].kind_at(t, cursors_[i]);
    if (there == StepKind::kOutside) continue;
    return {StepKind::kOutside, there == StepKind::kWarmUp ? kNoPhase : i, own_from(others_[i], cursors_[i])};
  }
  return outside(t);
}

// The begin on the device of the step before `next`, by its length.
Nanoseconds PhaseSearch::own_from(const Steps& steps, std::size_t next) const {
  const Step& step = steps.steps[next - 1];
  return begins_anew(steps.steps, next - 1) ? step.done_ns - step.length_ns : std::numeric_limits<Nanoseconds>::min();
}

Nanoseconds time_between_steps(const Steps& reported, const std::vector<Steps>& others) {
  std::vector<TimeSpan> spans;
  const auto add = [&](const Steps& steps) {
    for (const Step& step : steps.steps) spans.push_back(step.host);
  };
  add(reported);
  for (const Steps& steps : others) add(steps);
  std::sort(spans.begin(), spans.end(), [](TimeSpan a, TimeSpan b) { return a.begin_ns < b.begin_ns; });
  Nanoseconds between_ns = 0;
  for (std::size_t i = 1; i < spans.size(); ++i) {
    between_ns = add_saturated(between_ns, std::max<Nanoseconds>(0, spans[i].begin_ns - spans[i - 1].end_ns));
    spans[i].end_ns = std::max(spans[i].end_ns, spans[i - 1].end_ns);
  }
  return between_ns;
}

}  // namespace synctrace
