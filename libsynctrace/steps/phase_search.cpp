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
  return begins_anew(steps.steps, next - 1) ? step.from_ns : std::numeric_limits<Nanoseconds>::min();
}

}  // namespace synctrace
