// SPDX-License-Identifier: Apache-2.0
#include "steps/step_nesting.h"

#include <algorithm>
#include <map>
#include <set>

#include "steps/step_candidates.h"
#include "steps/step_limits.h"
#include "steps/step_split.h"

namespace synctrace {
namespace {

// At least 80 % of the intervals between two marks hold `count` steps, give or take `off`.
bool come_regularly(const StepCuts& marks, const std::vector<ItemRange>& steps, std::size_t count,
                    std::size_t off = 0) {
  std::size_t regular = 0;
  std::size_t any = 0;
  auto step = steps.begin();
  for (std::size_t i = 0; i + 1 < marks.size(); ++i) {
    std::size_t between = 0;
    while (step != steps.end() && step->begin < marks[i]) ++step;
    for (; step != steps.end() && step->begin < marks[i + 1]; ++step) ++between;
    regular += between + off >= count && between <= count + off ? 1U : 0U;
    any += between > 0 ? 1U : 0U;
  }
  return ratio(regular, any) >= kNearlyAll;
}

// Layers do so. Iterations until something converges, and steps between rare kernels, are of another number each time.
bool hold_as_many(const StepLevel& outer, const StepLevel& level, std::size_t passes) {
  return come_regularly(outer.cuts, level.steps, passes, kPassesOff.of(passes) + 1);
}

// Nearly all are about as long as half of them.
bool are_as_long(const std::vector<ItemRange>& steps) {
  std::vector<std::size_t> sizes;
  for (const ItemRange step : steps) sizes.push_back(step.size());
  std::sort(sizes.begin(), sizes.end());
  const std::size_t usual = sizes[sizes.size() / 2];
  const std::size_t off = kPassesOff.of(usual);
  const auto first = std::lower_bound(sizes.begin(), sizes.end(), usual - off);
  const auto last = std::upper_bound(sizes.begin(), sizes.end(), usual + off);
  return ratio(static_cast<std::size_t>(last - first), sizes.size()) >= kNearlyAll;
}

}  // namespace

// Counts the steps of `fine` in those of `coarse`.
StepNesting::Inside StepNesting::inside(const StepLevel& fine, const StepLevel& coarse) const {
  std::vector<std::size_t> passes;
  std::vector<std::size_t> more;
  std::size_t covered = 0;
  const std::size_t work_of_one = levels_.work_in(fine.typical);
  std::size_t all = 0;  // the work of a pass is the usual one: what stands behind the last of them is none of it
  auto step = fine.steps.begin();
  for (const ItemRange outer : coarse.steps) {
    while (step != fine.steps.end() && step->begin < outer.begin) ++step;
    std::size_t count = 0;
    for (; step != fine.steps.end() && step->begin < outer.end; ++step) ++count;
    const std::size_t work = levels_.work_in(outer);
    const std::size_t of_passes = std::min(count * work_of_one, work);
    passes.push_back(count);
    more.push_back(work - of_passes);
    covered += of_passes;
    all += work;
  }
  const auto middle = [](std::vector<std::size_t>& values) {
    const auto at = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), at, values.end());
    return *at;
  };
  std::size_t sum = 0;
  for (const std::size_t count : passes) sum += count;
  return {middle(passes), (sum + passes.size() - 1) / passes.size(), middle(more),
          static_cast<double>(covered) / static_cast<double>(std::max<std::size_t>(all, 1))};
}

// Whether a step runs only the kinds of its passes beside them: one more pass, as over the prompt of a text.
bool StepNesting::is_one_more(const StepLevel& level, const StepLevel& outer, std::size_t passes) const {
  std::map<std::uint32_t, std::size_t> usual;
  for (std::size_t i = level.typical.begin; i < level.typical.end; ++i) usual[items_.kinds[i]] += passes;
  std::size_t same = 0;
  std::size_t other = 0;
  std::set<std::uint32_t> same_kinds;
  std::set<std::uint32_t> other_kinds;
  for (std::size_t i = outer.typical.begin; i < outer.typical.end; ++i) {
    if ((items_.traits[i] & StepItems::kWork) == 0) continue;
    const auto kind = usual.find(items_.kinds[i]);
    if (kind == usual.end()) {
      ++other;
      other_kinds.insert(items_.kinds[i]);
    } else if (kind->second > 0) {
      --kind->second;
    } else {
      ++same;
      same_kinds.insert(items_.kinds[i]);
    }
  }
  // Names that vary are in few steps each.
  const auto in_each = [&](const std::set<std::uint32_t>& kinds) {
    return std::count_if(kinds.begin(), kinds.end(),
                         [&](std::uint32_t kind) { return is_in(levels_.places(kind), outer.steps, kNearlyAll); });
  };
  return (same > other && in_each(same_kinds) >= in_each(other_kinds)) || other == 0;
}

// Whether a loop runs in each of its steps, and they do more than that: then it is no layer itself.
bool StepNesting::has_parts(const StepLevel& level) const {
  return std::any_of(levels_.all().begin(), levels_.all().end(), [&](const StepLevel& fine) {
    if (ratio(fine.steps.size(), level.steps.size()) < kFiner) return false;
    const Inside part = inside(fine, level);
    return part.passes >= kFewestParts && part.covered >= kAtLeastHalf && ratio(part.more, fine.work) >= kMoreThanParts;
  });
}

// Whether at least this share of the steps have one of these items, which are all of a kind.
bool StepNesting::is_in(const StepCuts& places, const std::vector<ItemRange>& steps, Share share) {
  const auto inside = std::count_if(steps.begin(), steps.end(), [&](ItemRange step) {
    const auto place = std::lower_bound(places.begin(), places.end(), step.begin);
    return place != places.end() && *place < step.end;
  });
  return static_cast<double>(inside) >= share.of(static_cast<double>(steps.size()));
}

// Whether nearly every step runs a kernel that no pass runs, `at_most` times in the mean.
bool StepNesting::adds_work(const StepLevel& pass, const StepLevel& step, double at_most) const {
  const std::set<std::uint32_t> usual(items_.kinds.begin() + static_cast<std::ptrdiff_t>(pass.typical.begin),
                                      items_.kinds.begin() + static_cast<std::ptrdiff_t>(pass.typical.end));
  for (std::size_t i = step.typical.begin; i < step.typical.end; ++i) {
    const std::uint32_t kind = items_.kinds[i];
    const bool is_work = (items_.traits[i] & StepItems::kWork) != 0;
    const double times = static_cast<double>(levels_.places(kind).size()) / static_cast<double>(step.steps.size());
    if (!is_work || times < kNearlyAll || times > at_most || usual.contains(kind)) continue;
    // A rare kernel can reach this count by chance, but then it is not in every step.
    if (!is_in(levels_.places(kind), step.steps, kNearlyAll)) continue;
    // The typical pass may lack a record.
    if (!is_in(levels_.places(kind), pass.steps, kAtLeastHalf)) return true;
  }
  return false;
}

bool StepNesting::is_inner(const StepLevel& level) {
  if (level.exchanging >= kAtLeastHalf || has_parts(level)) return false;
  const auto of_model = std::count_if(level.cuts.begin(), level.cuts.end(), [&](std::size_t item) {
    return (items_.traits[item] & StepItems::kOfModel) != 0;
  });
  const bool is_cut_in_model = ratio(static_cast<std::size_t>(of_model), level.cuts.size()) > kAtLeastHalf;
  return std::any_of(levels_.all().begin(), levels_.all().end(), [&](const StepLevel& outer) {
    if (ratio(outer.steps.size(), level.steps.size()) > kCoarser) return false;
    // Some intervals of a rare kernel are alike by chance.
    if (ratio(outer.steps.size(), outer.cuts.size()) < kAtLeastHalf) return false;
    const Inside part = inside(level, outer);
    // A few coarser steps do not make layers of hundreds of passes.
    if (part.at_most < kFewestPasses || part.passes > kMostPassesForOne * outer.steps.size()) return false;
    if (outer.steps.size() < kFewSteps && !hold_as_many(outer, level, part.passes)) return false;
    if (is_cut_in_model && outer.exchanging >= kNearlyAll) return true;
    if (looks_.loops(level.steps, outer.steps, items_, kBacksOfLayers)) return false;
    // A line of the log may run a kernel of its own. Without stacks that is taken for the end of a step.
    const bool is_marked = outer.exchanging >= kAtLeastHalf && looks_.count() < outer.steps.size();
    const bool does_more = is_marked ? adds_work(level, outer) && adds_regularly(level, outer)
                                     : ratio(part.more, level.work) >= kMoreThanParts;
    if (!does_more || is_one_more(level, outer, part.at_most)) return false;
    return part.covered < kNearlyAllWork || part.more <= kMostTimesPass * level.work;
  });
}

// Whether they differ by waits and copies at most: every other one may wait.
bool StepNesting::do_same_work(ItemRange a, ItemRange b) const {
  const auto work = [&](ItemRange range) {
    std::vector<std::uint32_t> kinds;
    for (std::size_t i = range.begin; i < range.end; ++i) {
      if ((items_.traits[i] & StepItems::kWork) != 0) kinds.push_back(items_.kinds[i]);
    }
    std::sort(kinds.begin(), kinds.end());
    return kinds;
  };
  return work(a) == work(b);
}

StepNesting::Turns StepNesting::turns_of(const StepLevel& level, std::size_t passes) {
  Turns turns;
  const std::size_t stride = level.steps.size() / kMostTurnLooks + 1;
  for (std::size_t i = 0; i + passes < level.steps.size(); i += stride, ++turns.looks) {
    const double next = levels_.cutter().likeness(level.steps[i], level.steps[i + 1]);
    const double again = levels_.cutter().likeness(level.steps[i], level.steps[i + passes]);
    turns.more_alike += next < kUnlike && next + kMoreAlike.fraction() < again ? 1U : 0U;
    turns.equal_next += next >= kHardlyDiffer || do_same_work(level.steps[i], level.steps[i + 1]) ? 1U : 0U;
    turns.exact_next += next >= kExact || do_same_work(level.steps[i], level.steps[i + 1]) ? 1U : 0U;
    turns.equal_again += again >= kExact ? 1U : 0U;
  }
  return turns;
}

bool StepNesting::take_turns(const StepLevel& level, std::size_t passes) {
  const Turns turns = turns_of(level, passes);
  return turns.looks >= kLeastSteps && ratio(turns.more_alike, turns.looks) >= kAtLeastHalf;
}

// Parts of a coarser level that differ: they are less alike than its steps, or hardly one is equal to the next.
bool StepNesting::differ(const StepLevel& level, const StepLevel& outer, std::size_t passes) {
  // Marks that stray make one level look less alike than another one of as many steps.
  double likeness = level.likeness;
  for (const StepLevel& one : levels_.all()) {
    const auto to_level = ratio(one.steps.size(), level.steps.size());
    if (to_level >= kNearlyAll && to_level <= kFiner) likeness = std::max(likeness, one.likeness);
  }
  const double outer_off = 1 - outer.likeness;
  const bool is_unlike = level.likeness < kUnlike && level.likeness + kMoreAlike.fraction() < outer.likeness;
  const bool are_unlike = 1 - likeness > std::max(kTimesAsUnlike * outer_off, outer_off + kMoreAlike.fraction());
  const std::size_t most = is_unlike ? kMostLayers : kMostPassesForOne;
  if ((is_unlike || are_unlike) && outer.likeness >= kMuchAlike && passes <= most) return true;
  const Turns turns = turns_of(level, passes);
  return turns.looks >= kFewSteps && ratio(turns.equal_again, turns.looks) >= kEqualAgain &&
         ratio(turns.equal_next, turns.equal_again) <= kMostOdd;
}

// Parts that differ by an item or two, each time by the same, where stacks show one loop around all of them.
bool StepNesting::are_other_parts(const StepLevel& level, const StepLevel& outer, std::size_t passes) {
  const Turns turns = turns_of(level, passes);
  return turns.looks >= kFewSteps && ratio(turns.equal_again, turns.looks) >= kNearlyAll &&
         ratio(turns.exact_next, turns.looks) <= kMostOdd &&
         looks_.loop_once(steps_of(items_, outer.steps), kFewestPasses, items_);
}

// Whether each step runs a kernel that passes do not run, as often each time.
bool StepNesting::adds_regularly(const StepLevel& pass, const StepLevel& step) const {
  const std::set<std::uint32_t> usual(items_.kinds.begin() + static_cast<std::ptrdiff_t>(pass.typical.begin),
                                      items_.kinds.begin() + static_cast<std::ptrdiff_t>(pass.typical.end));
  std::map<std::uint32_t, std::size_t> added;
  for (std::size_t i = step.typical.begin; i < step.typical.end; ++i) {
    if ((items_.traits[i] & StepItems::kWork) != 0 && !usual.contains(items_.kinds[i])) ++added[items_.kinds[i]];
  }
  return std::any_of(added.begin(), added.end(), [&](const auto& one) {
    const auto& [kind, count] = one;
    const StepCuts& places = levels_.places(kind);
    if (is_in(places, pass.steps, kAtLeastHalf)) return false;
    const auto regular = std::count_if(step.steps.begin(), step.steps.end(), [&, times = count](ItemRange range) {
      const auto first = std::lower_bound(places.begin(), places.end(), range.begin);
      const auto there = static_cast<std::size_t>(std::lower_bound(first, places.end(), range.end) - first);
      const std::size_t off = kPassesOff.of(times);
      return there + off >= times && there <= times + off;
    });
    return ratio(static_cast<std::size_t>(regular), step.steps.size()) >= kNearlyAll;
  });
}

// Whether the host gives data for several passes at once, in a loop around them that stacks show.
bool StepNesting::feeds(const StepLevel& level, const StepLevel& outer, std::size_t passes) {
  return !gives(level) && gives(outer) && looks_.loop_once(steps_of(items_, outer.steps), passes, items_);
}

const StepLevel* StepNesting::whole_of(const StepLevel& level) {
  for (const StepLevel& outer : levels_.all()) {
    if (outer.steps.size() < kFewSteps || ratio(outer.steps.size(), level.steps.size()) > kCoarser) continue;
    if (outer.touching < kInRuns || outer.likeness < kNearlyAll) continue;
    if (outer.share < kMostOfThem.of(level.share)) continue;
    const Inside part = inside(level, outer);
    if (part.passes < kFewestPasses) continue;
    // Where records are missing, not each step of a few parts is found.
    const bool is_sure = outer.likeness >= kMuchAlike && part.passes <= kMostPassesForOne;
    if (!is_sure && outer.share < kNearlyAll.of(level.share)) continue;
    if (!hold_as_many(outer, level, part.passes) && !are_as_long(outer.steps)) continue;
    if (differ(level, outer, part.passes) || take_turns(level, part.passes)) return &outer;
    if (are_other_parts(level, outer, part.passes)) return &outer;
    if (gives(level) && has_other_inputs(level, outer)) continue;  // training and validation
    if (!adds_regularly(level, outer)) continue;
    if (!is_one_more(level, outer, part.passes) || feeds(level, outer, part.passes)) return &outer;
  }
  return nullptr;
}

// Whether a good part of its work comes from another thread, as autograd's does.
bool StepNesting::is_aside(const StepLevel& level) const {
  return ratio(items_.count(level.typical, StepItems::kAside), level.typical.size()) > kAsideWork;
}

const StepLevel* StepNesting::passes_of(const StepLevel& level) {
  for (const StepLevel& fine : levels_.all()) {
    if (ratio(fine.steps.size(), level.steps.size()) < kFiner) break;
    const Inside part = inside(fine, level);
    const bool is_marked = fine.exchanging >= kNearlyAll;
    // In the middle: where names vary or records are missing, not each pass is found.
    const bool is_little = part.more <= kClearAndClip && part.covered >= kNearlyAll;
    const bool covers_all =
        part.covered >= kAllWork || ratio(part.more, levels_.work_in(level.typical)) <= kLittleMore || is_little;
    const bool is_pass = is_marked ? part.covered >= kAtLeastHalf : covers_all;
    // A pass over a batch does most of what a step does, and has a backward pass if the step has one.
    if (ratio(levels_.kinds_in(fine.steps, level.typical), levels_.kinds_in(level.typical)) < kAtLeastHalf) continue;
    if (is_aside(level) && !is_aside(fine)) continue;
    // One of them ends with the optimizer's work. Where more do, two models take turns.
    const bool share_optimizer = fine.optimizing * static_cast<double>(part.passes) < kOneInAStep;
    if (part.passes < kFewestPasses || part.covered < kAtLeastHalf || !share_optimizer) continue;
    if (is_pass) return &fine;
    if (part.covered >= kNearlyAll && looks_.loops(fine.steps, level.steps, items_, kBacksOfPasses)) return &fine;
  }
  return nullptr;
}

// Whether the host gives data in each step.
bool StepNesting::gives(const StepLevel& level) const { return items_.count(level.typical, StepItems::kGiven) > 0; }

// Whether another loop to whose steps the host gives data runs beside these passes.
bool StepNesting::has_other_inputs(const StepLevel& passes, const StepLevel& outer) const {
  return std::any_of(levels_.all().begin(), levels_.all().end(), [&](const StepLevel& other) {
    if (!gives(other) || inside(other, outer).passes < kFewestPasses) return false;
    const auto apart = std::count_if(other.steps.begin(), other.steps.end(), [&](ItemRange step) {
      const auto next = std::upper_bound(passes.steps.begin(), passes.steps.end(), step.begin,
                                         [](std::size_t item, ItemRange pass) { return item < pass.end; });
      return next == passes.steps.end() || next->begin >= step.end;
    });
    return ratio(static_cast<std::size_t>(apart), other.steps.size()) >= kNearlyAll;
  });
}

// Whether another loop, no small one and none inside of the passes, runs in each of these steps.
bool StepNesting::has_other_loop(const StepLevel& level, const StepLevel& passes) {
  return std::any_of(levels_.all().begin(), levels_.all().end(), [&](const StepLevel& other) {
    return levels_.kinds_in(other.typical) >= kKindsOfPass && inside(other, level).passes >= kFewestPasses &&
           inside(other, passes).passes < kFewestPasses &&
           levels_.cutter().likeness(other.typical, passes.typical) < kAlikeLayers;
  });
}

const StepLevel* StepNesting::group_of(const StepLevel& passes, bool& by_log) {
  const std::size_t exchanges = items_.count(passes.typical, StepItems::kExchange);
  const bool may_be_layers = exchanges > 0 && !gives(passes);  // which read
  for (const StepLevel& level : levels_.all()) {
    if (ratio(level.steps.size(), passes.steps.size()) > kCoarser) continue;
    if (level.steps.size() < kFewestGroups || !adds_work(passes, level, kOnceInAStep.fraction())) continue;
    if (may_be_layers && level.steps.size() >= kFewSteps) continue;
    const Inside part = inside(passes, level);
    if (part.passes < kFewestPasses || part.passes > kMostMicroSteps || part.more < kFewestMore) continue;
    if (!come_regularly(level.cuts, passes.steps, part.passes)) continue;
    // A line may be logged with it.
    const std::size_t more = items_.count(level.typical, StepItems::kExchange) - part.passes * exchanges;
    const bool is_log = more <= kMostLogExchanges && part.more >= kKindsOfPass && !has_other_loop(level, passes);
    by_log = more > 0;
    if (more == 0 || is_log) return &level;
  }
  return nullptr;
}

}  // namespace synctrace
