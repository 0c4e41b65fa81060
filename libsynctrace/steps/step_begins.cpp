// SPDX-License-Identifier: Apache-2.0
#include "steps/step_begins.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "steps/step_limits.h"

namespace synctrace {
namespace {

StepCuts earlier_cuts(const StepLevel& level, std::size_t earlier) {
  StepCuts cuts;
  for (std::size_t i = 0; i < level.steps.size(); ++i) {
    const ItemRange step = level.steps[i];
    const std::size_t at = step.begin - std::min(earlier, step.begin);
    if (cuts.empty() || at > cuts.back()) cuts.push_back(at);
    const bool touches = i + 1 < level.steps.size() && level.steps[i + 1].begin == step.end;
    if (!touches) cuts.push_back(at + std::min(step.size(), level.typical.size()));
  }
  return cuts;
}

// Groups the passes: those before the first mark, from each mark to the next, and behind the last.
std::vector<ItemRange> passes_between(const std::vector<ItemRange>& passes, const StepCuts& marks) {
  std::vector<ItemRange> result;
  std::size_t next = 0;
  const auto add_until = [&](std::size_t end) {
    if (end > next) result.push_back({next, end});
    next = end;
  };
  for (const std::size_t mark : marks) {
    const auto behind = std::upper_bound(passes.begin() + static_cast<std::ptrdiff_t>(next), passes.end(), mark,
                                         [](std::size_t at, ItemRange pass) { return at < pass.begin; });
    add_until(static_cast<std::size_t>(behind - passes.begin()));
  }
  add_until(passes.size());
  return result;
}

std::size_t median_size(std::vector<ItemRange> ranges) {
  const auto middle = ranges.begin() + static_cast<std::ptrdiff_t>(ranges.size() / 2);
  std::nth_element(ranges.begin(), middle, ranges.end(), [](ItemRange a, ItemRange b) { return a.size() < b.size(); });
  return middle->size();
}

}  // namespace

StepLevel StepBegins::turned(const StepLevel& level) {
  std::vector<std::uint32_t> once;  // kinds that come once in the typical step
  std::map<std::uint32_t, std::size_t> counts;
  for (std::size_t i = level.typical.begin; i < level.typical.end; ++i) ++counts[levels_.items().kinds[i]];
  for (std::size_t i = level.typical.begin; i < level.typical.end && once.size() < kMostMarks; ++i) {
    const std::uint32_t kind = levels_.items().kinds[i];
    const std::size_t seen = levels_.places(kind).size();
    if (counts[kind] == 1 && ratio(seen, level.steps.size()) >= kInNearlyEach) once.push_back(kind);
  }
  const auto rank_of = [&](const StepLevel& one) {
    const std::size_t torn = torn_off(one);
    return std::tuple(one.steps.size() - torn, -static_cast<std::ptrdiff_t>(torn), one.exact,
                      -static_cast<std::ptrdiff_t>(one.steps.front().begin));
  };
  StepLevel best = level;
  auto best_rank = rank_of(best);
  for (const std::uint32_t kind : once) {
    StepLevel other = levels_.cutter().cut(levels_.places(kind), level.typical);
    if (!levels_.are_steps(other) || other.optimizing < kMuchAlike.of(level.optimizing)) continue;
    const auto rank = rank_of(other);
    if (rank <= best_rank) continue;
    best = std::move(other);
    best_rank = rank;
  }
  return shifted(best);
}

std::size_t StepBegins::torn_off(const StepLevel& level) { return torn_at(level, true) + torn_at(level, false); }

// The number of last, or first, steps of runs that lack an item which nearly all other steps have. The item does not
// stand beside the run's other end either, as it would where steps are cut in their middle. Such a last step is the
// begin of another loop, which begins alike, and such a first step that loop's end. By chance, as where records are
// missing, few steps lack the item.
std::size_t StepBegins::torn_at(const StepLevel& level, bool is_end) {
  struct Presence {
    std::size_t edges = 0;
    std::size_t others = 0;
    std::size_t seen = 0;  // the number of the step in which it was seen last, from 1
  };
  const std::vector<ItemRange>& steps = level.steps;
  std::vector<Presence> kinds(levels_.items().kind_count);
  std::size_t edges = 0;
  std::size_t others = 0;
  const std::size_t usual = level.typical.size();
  for (std::size_t first = 0, last = 0; first < steps.size(); first = last + 1) {
    last = first;
    while (last + 1 < steps.size() && steps[last].end == steps[last + 1].begin) ++last;
    const ItemRange before{steps[first].begin - std::min(steps[first].begin, usual), steps[first].begin};
    const ItemRange behind{steps[last].end, std::min(steps[last].end + usual, levels_.items().size())};
    for (std::size_t i = first; i <= last; ++i) {
      const bool is_edge = i == (is_end ? last : first);
      const bool is_unknown =
          is_end ? levels_.cutter().ends_range(steps[i].end) : levels_.cutter().begins_range(steps[i].begin);
      if (is_edge && is_unknown) continue;
      ++(is_edge ? edges : others);
      for (const ItemRange range : {steps[i], !is_edge ? ItemRange{} : is_end ? before : behind}) {
        for (std::size_t item = range.begin; item < range.end; ++item) {
          Presence& kind = kinds[levels_.items().kinds[item]];
          if (std::exchange(kind.seen, i + 1) != i + 1) ++(is_edge ? kind.edges : kind.others);
        }
      }
    }
  }
  std::size_t most = 0;
  for (const Presence& kind : kinds) {
    const double share = others == 0 ? 0 : static_cast<double>(kind.others) / static_cast<double>(others);
    const std::size_t lacking = edges - kind.edges;
    const double by_chance = static_cast<double>(edges) * (1 - share);
    if (share >= kInNearlyEach && lacking >= kFewestTorn && static_cast<double>(lacking) >= kTimesByChance * by_chance)
      most = std::max(most, lacking);
  }
  return most;
}

// Steps of a text that grows run other kernels from some length on: a run of steps then holds some that are equal to
// the typical one, and some that are equal to each other and little like it. Returns the likeness at the least alike
// tenth of all such runs; 1 without any.
double StepBegins::likeness_of_rarer_sort(const StepLevel& level) {
  StepCutter& cutter = levels_.cutter();
  std::vector<double> likenesses;
  std::vector<double> of_run;
  for (std::size_t i = 1; i <= level.steps.size(); ++i) {
    if (i < level.steps.size() && level.steps[i - 1].end == level.steps[i].begin) {
      if (cutter.likeness(level.steps[i - 1], level.steps[i]) >= kExact)
        of_run.push_back(cutter.likeness(level.steps[i], level.typical));
      continue;
    }
    if (std::any_of(of_run.begin(), of_run.end(), [](double one) { return one >= kExact; }))
      likenesses.insert(likenesses.end(), of_run.begin(), of_run.end());
    of_run.clear();
  }
  if (likenesses.empty()) return 1;
  const auto tenth = likenesses.begin() + static_cast<std::ptrdiff_t>(kLeastAlike.of(likenesses.size()));
  std::nth_element(likenesses.begin(), tenth, likenesses.end());
  return *tenth;
}

// If no item comes once in a step right at its begin, cuts so many items earlier that most steps are whole.
StepLevel StepBegins::shifted(const StepLevel& level) {
  const std::size_t usual = level.typical.size();
  StepLevel best = level;
  std::size_t best_earlier = 0;
  std::size_t best_torn = torn_off(level);
  // A piece that is a step by chance is less alike than others, and lowers the sum.
  const double least = std::min(level.likeness, likeness_of_rarer_sort(level)) - kLessThanSteps.fraction();
  const auto score = [&](const StepLevel& one) { return one.likeness_sum - least * static_cast<double>(one.taken); };
  const auto try_shift = [&](std::size_t earlier) {
    if (earlier >= usual) return;
    StepLevel other = levels_.cutter().cut(earlier_cuts(level, earlier), level.typical);
    if (score(other) <= score(best) + (best_earlier == 0 ? kGainOfAShift.fraction() : 0) || !levels_.are_steps(other))
      return;
    const std::size_t torn = torn_off(other);
    const std::size_t whole = other.steps.size() - torn;
    const std::size_t best_whole = best.steps.size() - best_torn;
    if (whole < best_whole || (whole == best_whole && torn > best_torn)) return;
    best = std::move(other);
    best_earlier = earlier;
    best_torn = torn;
  };
  const std::size_t parts = std::min(kShiftParts, usual);
  for (std::size_t part = 1; part < parts; ++part) try_shift(usual * part / parts);
  if (best_earlier == 0) return level;
  for (std::size_t by = usual / parts; by > 0; by /= 2) {
    const std::size_t from = best_earlier;
    try_shift(from - std::min(by, from));
    try_shift(from + by);
  }
  return best;
}

StepLevel StepBegins::by_marks(const StepLevel& passes, const StepCuts& marks) {
  std::vector<ItemRange> steps;
  for (const ItemRange group : passes_between(passes.steps, marks)) {
    const std::size_t begin = passes.steps[group.begin].begin;
    const std::size_t end = passes.steps[group.end - 1].end;
    if (begin > marks.back()) break;
    const std::size_t next = group.end < passes.steps.size() ? passes.steps[group.end].begin : end;
    steps.push_back({begin, next - end < passes.typical.size() ? next : end});
  }
  return levels_.cutter().of(std::move(steps));
}

StepLevel StepBegins::by_passes(const StepLevel& level, const StepLevel& passes, const StepCuts& marks,
                                std::size_t& count) {
  const StepLevel pass = turned(passes);
  const std::vector<ItemRange> between = passes_between(pass.steps, marks);
  count = std::max<std::size_t>(1, median_size(between));
  const auto as_many =
      std::count_if(between.begin(), between.end(), [&](ItemRange some) { return some.size() == count; });
  const bool is_told = &marks == &levels_.optimizers();
  if (is_told && ratio(static_cast<std::size_t>(as_many), between.size()) < kAtLeastHalf) {
    count = 1;
    return by_marks(pass, marks);
  }
  // More passes mean that others that look the same ran before, as in a validation, or that a mark is missing.
  StepCuts cuts;
  for (const ItemRange some : between) {
    cuts.push_back(pass.steps[some.begin].begin);
    const bool is_behind_all = some.end == pass.steps.size();
    if (some.size() > count && !is_behind_all) cuts.push_back(pass.steps[some.end - count].begin);
  }
  StepLevel best = levels_.cutter().cut(std::move(cuts));
  return best.steps.size() + 1 < level.steps.size() ? turned(level) : best;
}

StepLevel StepBegins::in_pairs(const StepLevel& level) {
  StepCuts cuts;
  for (std::size_t i = 0; i < level.steps.size(); ++i) {
    const bool is_second = i > 0 && !cuts.empty() && cuts.back() == level.steps[i - 1].begin &&
                           level.steps[i - 1].end == level.steps[i].begin;
    if (!is_second) cuts.push_back(level.steps[i].begin);
  }
  return levels_.cutter().cut(std::move(cuts));
}

}  // namespace synctrace
