// SPDX-License-Identifier: Apache-2.0
#include "steps/step_search.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "steps/step_begins.h"
#include "steps/step_candidates.h"
#include "steps/step_joins.h"
#include "steps/step_levels.h"
#include "steps/step_limits.h"
#include "steps/step_nesting.h"
#include "steps/step_split.h"

namespace synctrace {
namespace {

class LoopSearch {
 public:
  LoopSearch(const StepItems& items, const std::vector<ItemRange>& ranges, StepLooks& looks)
      : items_(items), looks_(looks), levels_(items, ranges), nesting_(levels_, looks), begins_(levels_) {}

  std::optional<FoundLoop> run() {
    const StepLevel* level = by_optimizer();
    const bool optimizes = level != nullptr;
    if (const StepLevel* varied = optimizes ? nullptr : passes_of_optimizers()) return by_marks(*varied);
    if (!optimizes) level = by_exchange();
    if (level == nullptr) return std::nullopt;
    FoundLoop found;
    const StepLevel* passes = optimizes ? nesting_.passes_of(*level) : nullptr;
    const bool is_told = passes != nullptr || (optimizes && items_.count(level->typical, StepItems::kGiven) > 0);
    while (!is_told) {
      const StepLevel* group = optimizes ? nullptr : nesting_.group_of(*level, found.is_by_log);
      const StepLevel* whole = group != nullptr ? group : nesting_.whole_of(*level);
      if (whole == nullptr) break;
      passes = group != nullptr ? level : nullptr;
      level = whole;
    }
    StepLevel best;
    if (passes != nullptr) {
      best = begins_.by_passes(*level, *passes, optimizes ? levels_.optimizers() : level->cuts, found.micro_steps);
    } else {
      best = begins_.turned(*level);
      StepLevel pairs = nesting_.take_turns(best) ? begins_.in_pairs(best) : StepLevel{};
      if (pairs.steps.size() >= kLeastSteps) best = std::move(pairs);
      found.micro_steps = optimizes ? 1 : even_copies(best.typical);
      found.is_by_log = found.micro_steps > 1;
    }
    found.likeness = best.likeness;
    found.is_marked = optimizes || best.exchanging >= kNearlyAll;
    found.steps = optimizes ? std::move(best.steps) : steps_of_one_loop(std::move(best.steps), items_, looks_);
    return found;
  }

 private:
  // Steps that an optimizer ends, each with another number of these passes.
  FoundLoop by_marks(const StepLevel& passes) {
    StepLevel best = begins_.by_marks(begins_.turned(passes), levels_.optimizers());
    FoundLoop found;
    found.likeness = best.likeness;
    found.is_marked = true;
    found.steps = std::move(best.steps);
    return found;
  }

  // The loop that does nearly all of the work, and runs an optimizer now and then. Null: there is none.
  const StepLevel* passes_of_optimizers() const {
    if (levels_.optimizers().size() < kFewSteps) return nullptr;
    const auto is_it = [&](const StepLevel& one) {
      const double held = one.optimizing * static_cast<double>(one.steps.size());
      return one.optimizing <= kCoarser && held >= kInNearlyEach.of(static_cast<double>(levels_.optimizers().size())) &&
             one.share >= kNearlyAllWork && one.touching >= kNearlyAll && one.likeness >= kNearlyAll;
    };
    const auto best = std::find_if(levels_.all().begin(), levels_.all().end(), is_it);
    return best == levels_.all().end() ? nullptr : &*best;
  }

  // It does nearly all of the work, and the host waits for many of its passes at once, as for the log.
  bool waits_rarely(const StepLevel& level) const {
    return level.share >= kNearlyAllWork &&
           std::none_of(levels_.all().begin(), levels_.all().end(), [&](const StepLevel& one) {
             return one.exchanging >= kAtLeastHalf && one.steps.size() * kPassesOfAWait > level.steps.size();
           });
  }

  // Without records of the GPU's work only copies and waits are seen. Copies to the GPU that are of one kind and come
  // at even times may each begin a step, and what they are found in may be the steps up to a logged line. A batch of
  // many tensors comes at once.
  std::size_t even_copies(ItemRange step) const {
    if (items_.count(step, StepItems::kWork) > 0 || step.end >= items_.size()) return 1;
    std::vector<std::size_t> copies;
    for (std::size_t i = step.begin; i < step.end; ++i)
      if ((items_.traits[i] & StepItems::kGiven) != 0) copies.push_back(i);
    if (copies.size() < kFewestPasses) return 1;
    const auto between = [&](std::size_t a, std::size_t b) {
      return static_cast<std::size_t>(std::max<Nanoseconds>(0, items_.times_ns[b] - items_.times_ns[a]));
    };
    const std::size_t even_ns = between(step.begin, step.end) / copies.size();
    if (even_ns == 0) return 1;
    for (std::size_t i = 0; i + 1 < copies.size(); ++i) {
      const std::size_t gap_ns = between(copies[i], copies[i + 1]);
      if (items_.kinds[copies[i]] != items_.kinds[copies[i + 1]] || ratio(gap_ns, even_ns) < kAtLeastHalf) return 1;
    }
    return copies.size();
  }

  // The finest with an optimizer's work in each step.
  const StepLevel* by_optimizer() const {
    if (levels_.optimizers().size() < kLeastSteps) return nullptr;
    const StepLevel* best = nullptr;
    for (const StepLevel& one : levels_.all()) {
      if (one.optimizing < kNearlyAll || one.touching < kInRuns) continue;
      // A validation may begin alike: then a level without it has the optimizer's work in each.
      if (best == nullptr ||
          (best->optimizing < kInNearlyEach && one.optimizing >= kMuchAlike && one.share >= kNearlyAllWork &&
           one.likeness > best->likeness && ratio(one.steps.size(), levels_.optimizers().size()) >= kInNearlyEach))
        best = &one;
    }
    return best;
  }

  // It may be a step that exchanges nothing.
  bool is_plain_step(const StepLevel& level) const {
    return level.typical.size() >= kItemsOfPlainStep ||
           (level.typical.size() >= kItemsOfStep && levels_.kinds_in(level.typical) >= kKindsOfStep) ||
           items_.count(level.typical, StepItems::kGraph) > 0 || waits_rarely(level);
  }

  // The finest in whose steps the host and the GPU exchange something; without any, the finest that is the whole.
  const StepLevel* by_exchange() {
    std::vector<const StepLevel*> inner;
    const bool any = std::any_of(levels_.all().begin(), levels_.all().end(),
                                 [](const StepLevel& one) { return one.exchanging >= kAtLeastHalf; });
    // Where no kernels were recorded, a library's copies within a step look like a loop.
    const bool sees_work = std::any_of(items_.traits.begin(), items_.traits.end(),
                                       [](std::uint8_t traits) { return (traits & StepItems::kWork) != 0; });
    for (const StepLevel& level : levels_.all()) {
      const bool is_marked = level.exchanging >= kAtLeastHalf;
      const bool is_whole =
          level.share >= kAtLeastHalf && level.likeness >= kNearlyAll && (!any || (sees_work && is_plain_step(level)));
      if (!is_whole && !(any && is_marked)) continue;
      if (level.exchanging < kNearlyAll && nesting_.take_turns(level)) continue;
      // Marks at other places of a layer make a level that looks a little less like one.
      const bool is_same = std::any_of(inner.begin(), inner.end(), [&](const StepLevel* part) {
        return ratio(level.steps.size(), part->steps.size()) > kCoarser &&
               levels_.cutter().likeness(part->typical, level.typical) > kAlikeLayers;
      });
      if (!is_same && !nesting_.is_inner(level)) return &level;
      if (!is_same) inner.push_back(&level);
    }
    return nullptr;
  }

  const StepItems& items_;
  StepLooks& looks_;
  StepLevels levels_;
  StepNesting nesting_;
  StepBegins begins_;
};

}  // namespace

std::vector<FoundLoop> find_loops(const StepItems& items, StepLooks& looks) {
  std::vector<FoundLoop> loops;
  std::vector<ItemRange> ranges = items.ranges;
  while (!ranges.empty() && loops.size() < kMostPhases) {
    std::optional<FoundLoop> found = LoopSearch(items, ranges, looks).run();
    if (!found) break;
    ranges = left_over(ranges, found->steps);
    loops.push_back(std::move(*found));
  }
  return join_loops(std::move(loops), items, looks);
}

}  // namespace synctrace
