// SPDX-License-Identifier: Apache-2.0
#include "steps/step_looks.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <unordered_map>

#include "steps/step_classes.h"
#include "steps/step_lengths.h"
#include "steps/step_limits.h"

namespace synctrace {
namespace {

struct Votes {
  std::size_t count = 0;
  std::size_t last = 0;  // the step that voted last
  std::size_t anew = 0;  // steps in which the function was called anew, for all that is known of its loops
  std::size_t last_anew = 0;
  StackId stack{};  // one that shows it
};

}  // namespace

StepLooks::At StepLooks::first_from(Nanoseconds time_ns) {
  return std::lower_bound(events_.all().begin(), events_.all().end(), time_ns,
                          [](const Event& event, Nanoseconds t) { return event.time_ns < t; });
}

// The outermost function that is at another place than before.
std::optional<StepLooks::Back> StepLooks::went_back(StackId before, StackId after) {
  const auto& a = events_.spots(before);
  const auto& b = events_.spots(after);
  std::size_t depth = 0;
  while (depth < a.size() && depth < b.size() && a[depth] == b[depth]) ++depth;
  if (depth == a.size() && depth == b.size() && depth > 0) return Back{{depth - 1, b.back().function}, true};
  if (depth == a.size() || depth == b.size() || a[depth].function != b[depth].function) return std::nullopt;
  if (b[depth].position > a[depth].position) return std::nullopt;
  return Back{{depth, b[depth].function}, false};
}

// Whether the function at this depth went back to an earlier instruction without having a loop that does.
bool StepLooks::is_anew(StackId before, StackId after, std::size_t depth) {
  return !events_.can_loop(after, depth, events_.spots(after)[depth].position, events_.spots(before)[depth].position);
}

// The innermost caller that has a loop around the call, or the function itself where none is known to have.
StepLooks::Loop StepLooks::caller_of(Loop called, StackId stack) {
  const auto& spots = events_.spots(stack);
  for (std::size_t depth = called.depth; depth-- > 0;) {
    if (events_.can_loop(stack, depth, spots[depth].position, spots[depth].position))
      return {depth, spots[depth].function};
  }
  return called;
}

// From the first event of a step to the first of the next one lies one pass of the loop, wherever it is cut. The
// outermost function that goes back once or more in most of them is it.
std::optional<StepLooks::Place> StepLooks::place_of(const Steps& steps, const StepItems& items) {
  // Large steps are looked at to their end, too, and fewer of them: only there the outermost function may go back.
  const std::size_t events =
      static_cast<std::size_t>(first_from(steps.steps.back().host.begin_ns) - first_from(steps.steps[0].host.begin_ns));
  const std::size_t in_step = events / steps.steps.size();
  const std::size_t looked_at = std::clamp(kMostStacksLookedAt / (2 * in_step + 1), kFewestStackLooks, kMostStackLooks);
  const std::size_t stride = steps.steps.size() / looked_at + 1;
  const std::size_t most_looks = kMostStacksLookedAt / (steps.steps.size() / stride + 1);
  std::map<Loop, Votes> votes;
  std::map<Loop, Votes> same;
  for (std::size_t i = 0; i + 1 < steps.steps.size(); i += stride) {
    const TimeSpan next = steps.steps[i + 1].host;
    if (steps.steps[i].host.end_ns < next.begin_ns) continue;
    const At end = first_from(next.begin_ns);
    if (end == events_.all().end() || end->time_ns >= next.end_ns) continue;
    std::size_t looks = 0;
    for (At at = first_from(steps.steps[i].host.begin_ns); at != end && ++looks < most_looks; ++at) {
      const std::optional<Back> back = went_back(at->stack, std::next(at)->stack);
      if (!back) continue;
      Votes& one = (back->is_same ? same : votes)[back->loop];
      if ((one.anew == 0 || one.last_anew != i) && is_anew(at->stack, std::next(at)->stack, back->loop.depth)) {
        ++one.anew;
        one.last_anew = i;
      }
      if (one.count > 0 && one.last == i) continue;
      ++one.count;
      one.last = i;
      one.stack = std::next(at)->stack;
    }
  }
  const std::map<Loop, Votes>& all = votes.empty() ? same : votes;
  std::size_t most = 0;
  for (const auto& [loop, one] : all) most = std::max(most, one.count);
  const auto best = std::find_if(all.begin(), all.end(),
                                 [&](const auto& one) { return ratio(one.second.count, most) >= kMostVotes; });
  if (best == all.end()) return std::nullopt;
  Loop loop = best->first;
  const StackId stack = best->second.stack;
  // A function that is called anew does not loop: its caller does, unless that one is called anew, too.
  for (auto one = best; one != all.end() && ratio(one->second.anew, one->second.count) > kAtLeastHalf;
       one = all.find(loop)) {
    const Loop caller = caller_of(loop, stack);
    if (caller.depth == loop.depth) break;
    loop = caller;
  }
  for (; loop.depth > 0 && works_outside(steps, items, stack, loop.depth); --loop.depth)
    loop.function = events_.spots(stack)[loop.depth - 1].function;
  // A model's own loops hide the one that calls the model.
  if (const std::size_t module = events_.module_depth(stack); loop.depth >= module) {
    if (module == 0 || is_of_model(stack, module - 1)) return std::nullopt;
    loop = {module - 1, events_.spots(stack)[module - 1].function};
  }
  // A framework's or CUDA's own function tells a reader nothing either.
  while (!is_readers(events_.frame(stack, loop.depth))) {
    if (loop.depth == 0) return std::nullopt;
    --loop.depth;
    loop.function = events_.spots(stack)[loop.depth].function;
  }
  return Place{loop, stack};
}

void StepLooks::name(Steps& steps, const StepItems& items) {
  const std::optional<Place> place = place_of(steps, items);
  if (!place) return;
  const ResolvedFrame frame = events_.frame(place->stack, place->loop.depth);
  steps.source = StepSource::kLoop;
  steps.name = frame.function;
  steps.where = {frame.file, first_line(steps, place->loop, frame.line)};
  find_step_classes(events_, user_code_, place->loop.function, items, steps);
}

std::optional<std::pair<std::uint64_t, std::uint64_t>> StepLooks::positions(const Steps& steps, const Place& place) {
  const std::size_t depth = place.loop.depth;
  std::optional<std::pair<std::uint64_t, std::uint64_t>> result;
  const std::size_t stride = steps.steps.size() / kMostStackLooks + 1;
  for (std::size_t i = 0; i < steps.steps.size(); i += stride) {
    std::size_t looks = 0;
    At event = first_from(steps.steps[i].host.begin_ns);
    for (; event != events_.all().end() && event->time_ns < steps.steps[i].host.end_ns; ++event) {
      const auto& spots = events_.spots(event->stack);
      if (++looks > kMostStackLooks) break;
      if (spots.size() <= depth || spots[depth].function != place.loop.function) continue;
      const std::uint64_t at = spots[depth].position;
      result = result ? std::pair(std::min(result->first, at), std::max(result->second, at)) : std::pair(at, at);
    }
  }
  return result;
}

bool StepLooks::are_of_one_loop(const Steps& a, const Steps& b, const StepItems& items) {
  std::optional<Place> one = place_of(a, items);
  std::optional<Place> other = place_of(b, items);
  if (!one || !other) return false;
  // Where only what a loop calls was seen, that seems to loop.
  const Loop outer = one->loop.depth < other->loop.depth ? one->loop : other->loop;
  const auto& spots = events_.spots(one->stack);
  const auto& others = events_.spots(other->stack);
  if (spots[outer.depth].function != outer.function || others[outer.depth].function != outer.function) return false;
  if (!std::equal(spots.begin(), spots.begin() + static_cast<std::ptrdiff_t>(outer.depth), others.begin()))
    return false;
  one->loop = other->loop = outer;
  const auto first = positions(a, *one);
  const auto second = positions(b, *other);
  return first && second && std::max(first->first, second->first) <= std::min(first->second, second->second);
}

bool StepLooks::loop_once(const Steps& steps, std::size_t least_looks, const StepItems& items) {
  const std::optional<Place> place = place_of(steps, items);
  if (!place) return false;
  std::size_t backs = 0;
  std::size_t looks = 0;
  std::size_t looked_at = 0;
  const std::size_t stride = steps.steps.size() / kMostStepLooks + 1;
  for (std::size_t i = 0; i + 1 < steps.steps.size(); i += stride, ++looked_at) {
    const At end = first_from(steps.steps[i + 1].host.begin_ns);
    for (At at = first_from(steps.steps[i].host.begin_ns); at != end && std::next(at) != events_.all().end();
         ++at, ++looks) {
      const std::optional<Back> back = went_back(at->stack, std::next(at)->stack);
      backs += back && back->loop == place->loop ? 1U : 0U;
    }
  }
  return looks >= least_looks * looked_at && ratio(backs, looked_at) <= kOneInAStep;
}

bool StepLooks::is_readers(const ResolvedFrame& frame) const {
  if (frame.function.empty()) return false;
  const CodeOwner owner = user_code_.owner_of(frame);
  return owner == CodeOwner::kUser || owner == CodeOwner::kPackage;
}

// A function beside those that a model computes with, in the same file.
bool StepLooks::is_of_model(StackId stack, std::size_t depth) {
  const std::string file = events_.frame(stack, depth).file;
  for (std::size_t inner = depth + 1; inner < events_.spots(stack).size(); ++inner) {
    if (events_.frame(stack, inner).file == file) return true;
  }
  return false;
}

// Whether some kernel of nearly every step comes, wherever it is seen in one, from the caller of the function at this
// depth and not from the function. Then the caller loops, and calls the function anew in each step.
bool StepLooks::works_outside(const Steps& steps, const StepItems& items, StackId inside, std::size_t depth) {
  struct Kind {
    std::size_t steps = 0;  // that have it
    const Step* last = nullptr;
    std::size_t seen = 0;
    std::size_t outside = 0;
  };
  std::unordered_map<std::uint32_t, Kind> kinds;
  const auto& spots = events_.spots(inside);
  const auto is_outside = [&](StackId stack) {
    const auto& other = events_.spots(stack);
    return other.size() >= depth && other[depth - 1].function == spots[depth - 1].function &&
           (other.size() == depth || other[depth].function != spots[depth].function);
  };
  for (const Step& step : steps.steps) {
    At event = first_from(step.host.begin_ns);
    auto time = std::lower_bound(items.times_ns.begin(), items.times_ns.end(), step.host.begin_ns);
    for (; time != items.times_ns.end() && *time < step.host.end_ns; ++time) {
      const auto item = static_cast<std::size_t>(time - items.times_ns.begin());
      if ((items.traits[item] & StepItems::kWork) == 0) continue;
      Kind& kind = kinds[items.kinds[item]];
      if (std::exchange(kind.last, &step) != &step) ++kind.steps;
      while (event != events_.all().end() && event->time_ns < *time) ++event;
      if (event == events_.all().end() || event->time_ns != *time) continue;
      ++kind.seen;
      kind.outside += is_outside(event->stack) ? 1U : 0U;
    }
  }
  return std::any_of(kinds.begin(), kinds.end(), [&](const auto& one) {
    const Kind& kind = one.second;
    return kind.seen >= kFewestSeenOutside && kind.outside == kind.seen &&
           ratio(kind.steps, steps.steps.size()) >= kNearlyAll;
  });
}

// The first line at which the function is seen in a step that follows another one: before others lies more.
std::uint32_t StepLooks::first_line(const Steps& steps, Loop loop, std::uint32_t line) {
  const std::size_t stride = steps.steps.size() / kMostStackLooks + 1;
  for (std::size_t i = 0; i < steps.steps.size(); i += stride) {
    if (begins_anew(steps.steps, i)) continue;
    const At event = first_from(steps.steps[i].host.begin_ns);
    if (event == events_.all().end()) break;
    if (event->time_ns >= steps.steps[i].host.end_ns) continue;
    const auto& spots = events_.spots(event->stack);
    if (spots.size() <= loop.depth || spots[loop.depth].function != loop.function) continue;
    const std::uint32_t other = events_.frame(event->stack, loop.depth).line;
    if (other != 0) line = line == 0 ? other : std::min(line, other);
  }
  return line;
}

bool StepLooks::loops(const std::vector<ItemRange>& steps, const std::vector<ItemRange>& coarser,
                      const StepItems& items, Share least) {
  std::size_t looked_at = 0;
  std::size_t looks = 0;
  std::size_t backs = 0;
  std::size_t passes = 0;
  const std::size_t stride = coarser.size() / kMostStepLooks + 1;
  for (std::size_t i = 0; i < coarser.size(); i += stride, ++looked_at) {
    const At begin = first_from(items.times_ns[coarser[i].begin]);
    const At end = first_from(items.times_ns[coarser[i].end - 1]);
    for (At at = begin; at < end && std::next(at) != events_.all().end(); ++at, ++looks) {
      const std::optional<Back> back = went_back(at->stack, std::next(at)->stack);
      if (back && !back->is_same && back->loop.depth < events_.module_depth(std::next(at)->stack)) ++backs;
    }
    const auto first = std::lower_bound(steps.begin(), steps.end(), coarser[i].begin,
                                        [](ItemRange step, std::size_t item) { return step.begin < item; });
    for (auto step = first; step != steps.end() && step->begin < coarser[i].end; ++step) ++passes;
  }
  return looks >= kFewestLooks * looked_at && backs >= looked_at + least.of(std::min(passes, looks));
}

}  // namespace synctrace
