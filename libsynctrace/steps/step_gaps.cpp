// SPDX-License-Identifier: Apache-2.0
// What a loop does now and then: a checkpoint, a validation without a loop. It issues other work than a step, so the
// search by work leaves it between two steps; stacks show that it lies in the loop.
#include <algorithm>
#include <vector>

#include "steps/step_limits.h"
#include "steps/step_looks.h"

namespace synctrace {

bool StepLooks::lies_in_loop(TimeSpan gap, const Place& place) {
  const auto& inside = events_.spots(place.stack);
  const auto depth = static_cast<std::ptrdiff_t>(place.loop.depth);
  const At first = first_from(gap.begin_ns);
  const At end = first_from(gap.end_ns);
  return first != end && std::all_of(first, end, [&](const Event& event) {
           const auto& spots = events_.spots(event.stack);
           return spots.size() > place.loop.depth && spots[place.loop.depth].function == place.loop.function &&
                  std::equal(spots.begin(), spots.begin() + depth, inside.begin());
         });
}

bool StepLooks::close_gaps(Steps& steps, const std::vector<TimeSpan>& others, const StepItems& items) {
  const auto gap_behind = [](const Step& step) { return TimeSpan{step.host.end_ns, (&step + 1)->host.begin_ns}; };
  std::vector<Step*> before;  // steps with such a gap behind them
  for (std::size_t i = 0; i + 1 < steps.steps.size(); ++i) {
    const TimeSpan gap = gap_behind(steps.steps[i]);
    if (gap.length_ns() <= 0) continue;
    const auto other = std::lower_bound(others.begin(), others.end(), gap.begin_ns,
                                        [](TimeSpan span, Nanoseconds t) { return span.end_ns <= t; });
    if (other == others.end() || other->begin_ns >= gap.end_ns) before.push_back(&steps.steps[i]);
  }
  if (before.size() < kFewestGaps) return false;
  const std::optional<Place> place = place_of(steps, items);
  if (!place) return false;
  std::erase_if(before, [&](const Step* step) { return !lies_in_loop(gap_behind(*step), *place); });
  if (before.size() < kFewestGaps) return false;
  for (Step* step : before) step->host.end_ns = (step + 1)->host.begin_ns;
  return true;
}

}  // namespace synctrace
