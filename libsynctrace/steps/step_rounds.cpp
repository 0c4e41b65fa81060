// SPDX-License-Identifier: Apache-2.0
// Steps by stacks alone, of a loop whose rounds do unlike work.
#include <algorithm>
#include <map>

#include "steps/step_classes.h"
#include "steps/step_limits.h"
#include "steps/step_looks.h"

namespace synctrace {

// A function that has no loop is called anew: its caller goes round.
std::optional<StepLooks::Loop> StepLooks::goes_round(StackId before, StackId after) {
  const std::optional<Back> back = went_back(before, after);
  if (!back) return std::nullopt;
  const auto& spots = events_.spots(after);
  std::size_t depth = back->loop.depth;
  std::uint64_t last = events_.spots(before)[depth].position;
  while (!events_.can_loop(after, depth, spots[depth].position, last, true)) {
    if (depth == 0) return std::nullopt;
    last = spots[--depth].position;
  }
  return Loop{depth, spots[depth].function};
}

Steps StepLooks::rounds(const StepItems& items) {
  struct Rounds {
    std::vector<Nanoseconds> begins_ns;
    StackId stack{};
  };
  const auto until = [&](Nanoseconds t) {
    return static_cast<std::size_t>(std::lower_bound(items.times_ns.begin(), items.times_ns.end(), t) -
                                    items.times_ns.begin());
  };
  std::map<Loop, Rounds> loops;
  const std::vector<Event>& events = events_.all();
  for (std::size_t i = 1; i < events.size(); ++i) {
    const std::optional<Loop> loop = goes_round(events[i - 1].stack, events[i].stack);
    if (!loop) continue;
    // One operator launches twice, or copies and waits, or a model goes on to its next layer: no round lies between.
    const StackId stack = events[i].stack;
    const bool is_same = events_.spots(events[i - 1].stack) == events_.spots(stack);
    const bool is_in_module = events_.module_depth(stack) < events_.spots(stack).size();
    if (is_same && (is_in_module || until(events[i].time_ns) < until(events[i - 1].time_ns) + kItemsOfStep)) continue;
    Rounds& rounds = loops[*loop];
    rounds.begins_ns.push_back(events[i].time_ns);
    rounds.stack = stack;
  }
  // Loops are in order of their depth: the outermost that goes round often enough, for most of what was issued.
  for (const auto& [loop, rounds] : loops) {
    const ResolvedFrame frame = events_.frame(rounds.stack, loop.depth);
    const std::size_t inside = until(rounds.begins_ns.back()) - until(rounds.begins_ns.front());
    if (rounds.begins_ns.size() < kFewSteps || ratio(inside, items.size()) < kAtLeastHalf || !is_readers(frame))
      continue;
    Steps steps;
    steps.source = StepSource::kLoop;
    steps.name = frame.function;
    for (std::size_t i = 0; i + 1 < rounds.begins_ns.size(); ++i)
      steps.steps.push_back({{rounds.begins_ns[i], rounds.begins_ns[i + 1]}});
    steps.where = {frame.file, first_line(steps, loop, frame.line)};
    steps.confidence = StepConfidence::kMedium;
    steps.doubt = "they do not do the same work each time";
    find_step_classes(events_, user_code_, loop.function, items, steps);
    return steps;
  }
  return {};
}

}  // namespace synctrace
