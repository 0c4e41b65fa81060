// SPDX-License-Identifier: Apache-2.0
#include "steps/step_joins.h"

#include <algorithm>
#include <map>
#include <utility>

#include "steps/step_level.h"
#include "steps/step_limits.h"
#include "steps/step_split.h"

namespace synctrace {
namespace {

// The steps of both, in order; only the first of two that overlap.
std::vector<ItemRange> merged(std::vector<ItemRange> a, const std::vector<ItemRange>& b) {
  a.insert(a.end(), b.begin(), b.end());
  std::stable_sort(a.begin(), a.end(), [](ItemRange x, ItemRange y) { return x.begin < y.begin; });
  std::vector<ItemRange> result;
  for (const ItemRange step : a) {
    if (result.empty() || result.back().end <= step.begin) result.push_back(step);
  }
  return result;
}

class Joint {
 public:
  Joint(const FoundLoop& a, const FoundLoop& b, const StepItems& items, const std::vector<ItemRange>& ranges)
      : a_(a), b_(b), items_(items), ranges_(ranges), cutter_(items, ranges) {}

  bool may_be_one() {
    if (a_.steps.empty() || b_.steps.empty()) return false;
    return a_.micro_steps == b_.micro_steps && a_.is_marked == b_.is_marked &&
           cutter_.are_kin(typical(b_), typical(a_)) && go_over();
  }

  // Cut where both begin: at a kind that comes once in a step of either.
  std::vector<ItemRange> steps() {
    std::vector<ItemRange> best = merged(a_.steps, b_.steps);
    for (const std::uint32_t kind : once_in_both()) {
      std::vector<std::size_t> places;
      for (const ItemRange range : ranges_) {
        for (std::size_t i = range.begin; i < range.end; ++i) {
          if (items_.kinds[i] == kind) places.push_back(i);
        }
      }
      std::vector<ItemRange> both =
          merged(cutter_.cut(places, typical(a_)).steps, cutter_.cut(places, typical(b_)).steps);
      if (both.size() > best.size()) best = std::move(both);
    }
    return best;
  }

 private:
  static ItemRange typical(const FoundLoop& loop) { return loop.steps[loop.steps.size() / 2]; }

  // Whether less than a step lies at most changes from one loop to the other.
  bool go_over() const {
    const std::size_t usual = std::max(typical(a_).size(), typical(b_).size());
    std::vector<std::pair<ItemRange, bool>> all;
    for (const ItemRange step : a_.steps) all.emplace_back(step, false);
    for (const ItemRange step : b_.steps) all.emplace_back(step, true);
    std::sort(all.begin(), all.end(), [](const auto& x, const auto& y) { return x.first.begin < y.first.begin; });
    std::size_t changes = 0;
    std::size_t straight = 0;
    for (std::size_t i = 0; i + 1 < all.size(); ++i) {
      if (all[i].second == all[i + 1].second) continue;
      ++changes;
      straight += all[i + 1].first.begin - all[i].first.end < usual ? 1U : 0U;
    }
    return ratio(straight, changes) >= kAtLeastHalf;
  }

  std::vector<std::uint32_t> once_in_both() const {
    std::map<std::uint32_t, std::pair<std::size_t, std::size_t>> counts;
    for (std::size_t i = typical(a_).begin; i < typical(a_).end; ++i) ++counts[items_.kinds[i]].first;
    for (std::size_t i = typical(b_).begin; i < typical(b_).end; ++i) ++counts[items_.kinds[i]].second;
    std::vector<std::uint32_t> result;
    for (const auto& [kind, count] : counts) {
      if (count == std::pair<std::size_t, std::size_t>(1, 1) && result.size() < kMostMarks) result.push_back(kind);
    }
    return result;
  }

  const FoundLoop& a_;
  const FoundLoop& b_;
  const StepItems& items_;
  const std::vector<ItemRange>& ranges_;
  StepCutter cutter_;
};

// The items that no loop but these two has.
std::vector<ItemRange> ranges_of(const std::vector<FoundLoop>& loops, std::size_t a, std::size_t b,
                                 const StepItems& items) {
  std::vector<ItemRange> ranges = items.ranges;
  for (std::size_t i = 0; i < loops.size(); ++i) {
    if (i != a && i != b) ranges = left_over(ranges, loops[i].steps);
  }
  return ranges;
}

}  // namespace

std::vector<FoundLoop> join_loops(std::vector<FoundLoop> loops, const StepItems& items, StepLooks& looks) {
  for (std::size_t a = 0; a < loops.size(); ++a) {
    for (std::size_t b = a + 1; b < loops.size();) {
      const std::vector<ItemRange> ranges = ranges_of(loops, a, b, items);
      Joint joint(loops[a], loops[b], items, ranges);
      if (joint.may_be_one() &&
          looks.are_of_one_loop(steps_of(items, loops[a].steps), steps_of(items, loops[b].steps), items)) {
        loops[a].steps = joint.steps();
        loops.erase(loops.begin() + static_cast<std::ptrdiff_t>(b));
        b = a + 1;
      } else {
        ++b;
      }
    }
  }
  return loops;
}

}  // namespace synctrace
