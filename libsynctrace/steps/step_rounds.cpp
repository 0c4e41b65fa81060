// SPDX-License-Identifier: Apache-2.0
// Steps by stacks alone, of a loop whose rounds do unlike work.
#include <algorithm>
#include <array>
#include <map>
#include <utility>

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

// Stacks, and those of exchanges that have none, as where a flood of waits left no time for them: what was issued
// before such a one tells which line it is of, if nearly all others behind the same have one stack.
std::vector<StepLooks::Event> StepLooks::with_unseen(const StepItems& items) {
  using Behind = std::array<std::uint32_t, kItemsBefore + 1>;
  struct Seen {
    std::map<StackId, std::size_t> stacks;
    std::size_t count = 0;
  };
  std::vector<Event> events = events_.all();
  std::map<Behind, Seen> seen;
  std::vector<std::pair<Nanoseconds, Behind>> unseen;
  for (std::size_t i = kItemsBefore; i < items.size(); ++i) {
    if ((items.traits[i] & StepItems::kExchange) == 0) continue;
    Behind kinds{};
    for (std::size_t k = 0; k <= kItemsBefore; ++k) kinds[k] = items.kinds[i - k];
    const At event = first_from(items.times_ns[i]);
    if (event == events_.all().end() || event->time_ns != items.times_ns[i]) {
      unseen.emplace_back(items.times_ns[i], kinds);
      continue;
    }
    ++seen[kinds].stacks[event->stack];
    ++seen[kinds].count;
  }
  for (const auto& [time_ns, kinds] : unseen) {
    const Seen& others = seen[kinds];
    for (const auto& [stack, count] : others.stacks) {
      if (count >= kFewestSeenOutside && ratio(count, others.count) >= kNearlyAll) events.push_back({time_ns, stack});
    }
  }
  std::stable_sort(events.begin(), events.end(), [](const Event& a, const Event& b) { return a.time_ns < b.time_ns; });
  return events;
}

// The first and the last time the loop is seen, in the same call as in this time and between the same instructions.
TimeSpan StepLooks::stretch_of(const Place& place, const std::vector<Event>& events, TimeSpan known) {
  const std::size_t depth = place.loop.depth;
  const auto& own = events_.spots(place.stack);
  const auto position = [&](StackId stack) -> std::optional<std::uint64_t> {
    const auto& spots = events_.spots(stack);
    const bool is_inside = spots.size() > depth && spots[depth].function == place.loop.function &&
                           std::equal(spots.begin(), spots.begin() + static_cast<std::ptrdiff_t>(depth), own.begin());
    return is_inside ? std::optional(spots[depth].position) : std::nullopt;
  };
  const auto at = [&](Nanoseconds t) {
    return std::lower_bound(events.begin(), events.end(), t,
                            [](const Event& event, Nanoseconds time_ns) { return event.time_ns < time_ns; });
  };
  auto first = at(known.begin_ns);
  auto last = at(known.end_ns);
  std::uint64_t lowest = own[depth].position;
  std::uint64_t highest = lowest;
  for (auto event = first; event < last; ++event) {
    const auto here = position(event->stack);
    lowest = std::min(lowest, here.value_or(lowest));
    highest = std::max(highest, here.value_or(highest));
  }
  const auto is_in_loop = [&](const Event& event) {
    const auto here = position(event.stack);
    return here && *here >= lowest && *here <= highest;
  };
  while (first != events.begin() && is_in_loop(*std::prev(first))) --first;
  while (last + 1 != events.end() && is_in_loop(*std::next(last))) ++last;
  return {first->time_ns, last->time_ns};
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
  const std::vector<Event> events = with_unseen(items);
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
    const TimeSpan whole =
        stretch_of({loop, rounds.stack}, events, {rounds.begins_ns.front(), rounds.begins_ns.back()});
    if (whole.begin_ns < rounds.begins_ns.front()) steps.steps.push_back({{whole.begin_ns, rounds.begins_ns.front()}});
    for (std::size_t i = 0; i + 1 < rounds.begins_ns.size(); ++i)
      steps.steps.push_back({{rounds.begins_ns[i], rounds.begins_ns[i + 1]}});
    const std::size_t last = until(whole.end_ns);
    const Nanoseconds end_ns = last < items.size() ? std::max(items.end_ns(last), whole.end_ns) : whole.end_ns;
    if (rounds.begins_ns.back() < end_ns) steps.steps.push_back({{rounds.begins_ns.back(), end_ns}});
    steps.where = {frame.file, first_line(steps, loop, frame.line)};
    steps.confidence = StepConfidence::kMedium;
    steps.doubt = "they do not do the same work each time";
    find_step_classes(events_, user_code_, loop.function, items, steps);
    return steps;
  }
  return {};
}

}  // namespace synctrace
