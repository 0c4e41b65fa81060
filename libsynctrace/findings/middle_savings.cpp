// SPDX-License-Identifier: Apache-2.0
#include "findings/middle_savings.h"

#include <algorithm>
#include <cmath>

#include "attribution/attribute.h"
#include "model/excerpt.h"

namespace synctrace {
namespace {

// So many long steps are looked at, though they have more rows than were asked for.
constexpr std::size_t kFewestInMiddle = 8;
constexpr std::size_t kMostTimesAsLong = 5;
constexpr std::size_t kStepsToGetAhead = 3;  // a host that waits less than before needs them

// The middle of the run, in whole steps where there are any: its begin and its end tell less of it.
TimeSpan middle_of(const Trace& trace, const Steps& steps, std::size_t most_rows) {
  const double share = static_cast<double>(most_rows) / static_cast<double>(rows_of(trace));
  auto count = static_cast<std::size_t>(share * static_cast<double>(steps.steps.size()));
  if (count < kFewestInMiddle && count * kMostTimesAsLong >= kFewestInMiddle) count = kFewestInMiddle;
  if (count >= kFewestInMiddle && count <= steps.steps.size()) {
    const std::size_t first = (steps.steps.size() - count) / 2;
    return {steps.steps[first].host.begin_ns, steps.steps[first + count - 1].host.end_ns};
  }
  const auto length_ns = static_cast<Nanoseconds>(share * static_cast<double>(trace.last_ns - trace.first_ns));
  const Nanoseconds begin_ns = trace.first_ns + (trace.last_ns - trace.first_ns - length_ns) / 2;
  return {begin_ns, begin_ns + length_ns};
}

// Within what times can be, also where a damaged trace makes the factor a huge one.
void scale(Nanoseconds& ns, double factor) {
  const auto most = static_cast<double>(kLatestTime);
  ns = std::llround(std::clamp(static_cast<double>(ns) * factor, -most, most));
}

void scale(Interval& interval, double factor) {
  scale(interval.ns, factor);
  scale(interval.lo_ns, factor);
  scale(interval.hi_ns, factor);
}

}  // namespace

void scale(WhatIf& found, double factor) {
  scale(found.base_ns, factor);
  scale(found.base_lo_ns, factor);
  scale(found.base_hi_ns, factor);
  scale(found.recorded_ns, factor);
  scale(found.all, factor);
  if (found.asked) scale(*found.asked, factor);
  for (Saving& saving : found.savings) {
    scale(saving.alone, factor);
    scale(saving.ceiling_ns, factor);
    scale(saving.moved_ns, factor);
  }
  for (Choice& choice : found.choices) {
    for (Way& way : choice.ways) scale(way.gain_ns, factor);
  }
  for (FixGroup& group : found.groups) {
    scale(group.alone, factor);
    scale(group.marginal, factor);
    scale(group.cumulative, factor);
  }
  for (GroupSet& set : found.sets) scale(set.saving, factor);
  for (FixStep& step : found.order) {
    scale(step.marginal, factor);
    scale(step.cumulative, factor);
  }
}

void stand_for_ordinary_steps(const Steps& steps, WhatIf& found) {
  Nanoseconds whole_ns = 0;
  std::size_t ordinary = 0;
  for (const Step& step : steps.steps) {
    if (step.kind != StepKind::kSteady) continue;
    whole_ns = add_saturated(whole_ns, step.length_ns);
    ++ordinary;
  }
  scale(found, static_cast<double>(whole_ns) / static_cast<double>(found.recorded_ns));
  found.steps = ordinary;
}

WhatIf what_if_of_middle(const Trace& trace, const Attribution& attribution, const PlaceOf& place_of,
                         const WhatIfOptions& options, std::size_t most_rows, Nanoseconds& looked_at_ns) {
  const TimeSpan span = middle_of(trace, attribution.steps, most_rows);
  looked_at_ns = span.length_ns();
  const Trace excerpt = excerpt_of(trace, attribution.evidence->correlation, span);
  // Its steps are those of the whole, and so is what is ordinary among them.
  Steps inside = attribution.steps;
  std::vector<Step>& steps = inside.steps;
  std::erase_if(steps, [&](const Step& step) { return intersect(step.host, span) != step.host; });
  for (std::size_t i = 0; i < kStepsToGetAhead && steps.size() >= kFewestInMiddle; ++i)
    steps[i].kind = StepKind::kWarmUp;
  AttributeOptions known;
  known.known_steps = &inside;
  const Attribution part = attribute(excerpt, known);
  WhatIf found = what_if(part, place_of, options);
  if (!found.refusal.empty() || found.recorded_ns <= 0) return found;
  if (found.by_steps)
    stand_for_ordinary_steps(attribution.steps, found);
  else
    scale(found, static_cast<double>(trace.last_ns - trace.first_ns) / static_cast<double>(span.length_ns()));
  return found;
}

}  // namespace synctrace
