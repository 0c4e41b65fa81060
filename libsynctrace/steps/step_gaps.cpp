// SPDX-License-Identifier: Apache-2.0
// What a loop does now and then: a checkpoint, a validation without a loop. It issues other work than a step, so the
// search by work leaves it between two steps; stacks show that it lies in the loop.
#include <algorithm>
#include <vector>

#include "steps/step_limits.h"
#include "steps/step_looks.h"

namespace synctrace {

Nanoseconds StepLooks::in_loop_from(TimeSpan gap, const Place& place) {
  const auto& inside = events_.spots(place.stack);
  const auto depth = static_cast<std::ptrdiff_t>(place.loop.depth);
  const At first = first_from(gap.begin_ns);
  const At end = first_from(gap.end_ns);
  At from = end;
  while (from != first) {
    const auto& spots = events_.spots(std::prev(from)->stack);
    if (spots.size() <= place.loop.depth || spots[place.loop.depth].function != place.loop.function ||
        !std::equal(spots.begin(), spots.begin() + depth, inside.begin()))
      break;
    --from;
  }
  if (from == end) return gap.end_ns;
  return from == first ? gap.begin_ns : from->time_ns;
}

bool StepLooks::close_gaps(Steps& steps, const std::vector<TimeSpan>& others, const StepItems& items) {
  struct Gap {
    Step* before;
    TimeSpan rest;  // behind the last step of another phase in it
    bool is_whole;
  };
  std::vector<Gap> gaps;
  for (std::size_t i = 0; i + 1 < steps.steps.size(); ++i) {
    const TimeSpan gap{steps.steps[i].host.end_ns, steps.steps[i + 1].host.begin_ns};
    if (gap.length_ns() <= 0) continue;
    const auto next = std::lower_bound(others.begin(), others.end(), gap.end_ns,
                                       [](TimeSpan span, Nanoseconds t) { return span.begin_ns < t; });
    const Nanoseconds from_ns = next == others.begin() ? gap.begin_ns : std::prev(next)->end_ns;
    const bool is_whole = from_ns <= gap.begin_ns;
    if (from_ns < gap.end_ns)
      gaps.push_back({&steps.steps[i], {std::max(from_ns, gap.begin_ns), gap.end_ns}, is_whole});
  }
  if (gaps.size() < kFewestGaps) return false;
  const std::optional<Place> place = place_of(steps, items);
  if (!place) return false;
  for (Gap& gap : gaps) {
    const Nanoseconds from_ns = in_loop_from(gap.rest, *place);
    gap.rest.begin_ns = gap.is_whole && from_ns > gap.rest.begin_ns ? gap.rest.end_ns : from_ns;
  }
  std::erase_if(gaps, [](const Gap& gap) { return gap.rest.length_ns() <= 0; });
  if (gaps.size() < kFewestGaps) return false;
  for (const Gap& gap : gaps) {
    if (gap.is_whole)
      gap.before->host.end_ns = gap.rest.end_ns;
    else
      (gap.before + 1)->host.begin_ns = gap.rest.begin_ns;
  }
  return true;
}

}  // namespace synctrace
