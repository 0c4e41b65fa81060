// SPDX-License-Identifier: Apache-2.0
#include "steps/step_levels.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include "steps/step_candidates.h"
#include "steps/step_limits.h"

namespace synctrace {
namespace {

// Whether one of the one lies between two of the other, at some places looked at.
bool come_in_turn(const StepCuts& a, const StepCuts& b) {
  if (a.size() != b.size()) return false;
  const bool a_first = a.front() < b.front();
  const std::size_t stride = a.size() / kMostMarkLooks + 1;
  for (std::size_t i = 0; i + 1 < a.size(); i += stride) {
    const bool in_turn = a_first ? a[i] < b[i] && b[i] < a[i + 1] : b[i] < a[i] && a[i] < b[i + 1];
    if (!in_turn) return false;
  }
  return true;
}

// Where a kind comes again after many times its usual distance, if that is seldom.
StepCuts begins_of_bursts(const StepCuts& places) {
  std::vector<std::size_t> distances;
  const std::size_t stride = places.size() / kMostMarkLooks + 1;
  for (std::size_t i = 1; i < places.size(); i += stride) distances.push_back(places[i] - places[i - 1]);
  const auto middle = distances.begin() + static_cast<std::ptrdiff_t>(distances.size() / 2);
  std::nth_element(distances.begin(), middle, distances.end());
  const std::size_t far = kFarApart * *middle;
  StepCuts cuts = {places.front()};
  for (std::size_t i = 1; i < places.size(); ++i) {
    if (places[i] - places[i - 1] > far) cuts.push_back(places[i]);
  }
  return ratio(cuts.size(), places.size()) <= kAtLeastHalf ? cuts : StepCuts{};
}

}  // namespace

StepLevels::StepLevels(const StepItems& items, const std::vector<ItemRange>& ranges)
    : items_(items), cutter_(items, ranges), places_(items.kind_count) {
  work_before_.push_back(0);
  for (const std::uint8_t traits : items.traits) {
    const bool counts = (traits & (StepItems::kWork | StepItems::kUpdate)) == StepItems::kWork;
    work_before_.push_back(work_before_.back() + (counts ? 1U : 0U));
  }
  for (const ItemRange range : ranges) {
    for (std::size_t i = range.begin; i < range.end; ++i) {
      places_[items.kinds[i]].push_back(i);
      if ((items.traits[i] & StepItems::kOptimizer) != 0) optimizers_.push_back(i);
    }
  }
  if (optimizers_.empty()) find_exchanges(ranges);
  find();
}

// Exchanges by the items before them, the most frequent first.
void StepLevels::find_exchanges(const std::vector<ItemRange>& ranges) {
  std::map<std::vector<std::uint32_t>, StepCuts> behind;
  for (const ItemRange range : ranges) {
    for (std::size_t i = range.begin + kItemsBefore; i < range.end; ++i) {
      if ((items_.traits[i] & StepItems::kExchange) == 0 || (items_.traits[i - 1] & StepItems::kExchange) != 0)
        continue;
      for (const std::size_t before : {kItemsBefore, kMoreItemsBefore}) {
        if (i < range.begin + before) continue;
        const auto kind = items_.kinds.begin() + static_cast<std::ptrdiff_t>(i);
        behind[{kind - static_cast<std::ptrdiff_t>(before), kind + 1}].push_back(i);
      }
    }
  }
  for (auto& [kinds, cuts] : behind) {
    if (cuts.size() >= kFewSteps) exchanges_behind_.push_back(std::move(cuts));
  }
  std::stable_sort(exchanges_behind_.begin(), exchanges_behind_.end(),
                   [](const StepCuts& a, const StepCuts& b) { return a.size() > b.size(); });
  if (exchanges_behind_.size() > kMostMarks) exchanges_behind_.resize(kMostMarks);
}

// Finest first.
void StepLevels::find() {
  std::vector<std::uint32_t> kinds;
  for (std::uint32_t kind = 0; kind < places_.size(); ++kind) {
    if (places_[kind].size() > kLeastSteps) kinds.push_back(kind);
  }
  std::stable_sort(kinds.begin(), kinds.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return places_[a].size() > places_[b].size(); });
  std::multimap<std::size_t, const StepCuts*> tried;  // by count
  const auto try_marks = [&](const StepCuts& cuts) {
    const auto [first, last] = tried.equal_range(cuts.size());
    if (std::any_of(first, last, [&](const auto& one) { return come_in_turn(*one.second, cuts); })) return;
    tried.emplace(cuts.size(), &cuts);
    if (!cutter_.may_be_steps(cuts)) return;
    StepLevel level = cutter_.cut(cuts);
    if (are_steps(level)) levels_.push_back(std::move(level));
  };
  for (const std::uint32_t kind : kinds) {
    if (tried.size() == kMostKinds) break;
    try_marks(places_[kind]);
  }
  // Where each kernel of an optimizer comes several times in a step, only the begin of its work marks one.
  const bool is_marked = std::any_of(levels_.begin(), levels_.end(), [&](const StepLevel& level) {
    return level.optimizing >= kNearlyAll && ratio(level.steps.size(), optimizers_.size()) >= kNearlyAll;
  });
  if (!is_marked && optimizers_.size() > kLeastSteps) try_marks(optimizers_);
  // One function reads several values in a step: what ran before each tells them apart.
  for (const StepCuts& cuts : exchanges_behind_) try_marks(cuts);
  // A loop in each step, and no kernel that runs once in one: the begin of its bursts marks them.
  std::deque<StepCuts> bursts;
  for (std::size_t i = 0; optimizers_.empty() && i < kinds.size() && bursts.size() < kMostMarks; ++i) {
    StepCuts cuts = begins_of_bursts(places_[kinds[i]]);
    const bool is_known = std::any_of(levels_.begin(), levels_.end(), [&](const StepLevel& level) {
      const auto to_known = ratio(cuts.size(), level.steps.size());
      return to_known >= kLeastOfMedian && to_known <= kMostOfMedian;
    });
    if (cuts.size() < kFewSteps || is_known) continue;
    bursts.push_back(std::move(cuts));
    try_marks(bursts.back());
  }
  // Marks that stray make one level finer than it is.
  std::stable_sort(levels_.begin(), levels_.end(),
                   [](const StepLevel& a, const StepLevel& b) { return a.steps.size() > b.steps.size(); });
  drop_doubles();
}

// If records are missing, or names vary, kinds that come in turn do not look so.
void StepLevels::drop_doubles() {
  std::vector<StepLevel> kept;
  for (StepLevel& level : levels_) {
    const bool is_double = std::any_of(kept.begin(), kept.end(), [&](const StepLevel& one) {
      return ratio(one.steps.size(), level.steps.size()) <= kAsMany && one.exact >= level.exact &&
             cutter_.likeness(one.typical, level.typical) >= kSame;
    });
    if (!is_double) kept.push_back(std::move(level));
  }
  levels_ = std::move(kept);
}

// Whether the level holds nearly all of an optimizer's steps, one or more in each of its own.
bool StepLevels::hold_optimizers(const StepLevel& level) const {
  if (level.optimizing < kNearlyAll) return false;
  std::size_t held = 0;
  for (const ItemRange step : level.steps) {
    const auto first = std::lower_bound(optimizers_.begin(), optimizers_.end(), step.begin);
    held += static_cast<std::size_t>(std::lower_bound(first, optimizers_.end(), step.end) - first);
  }
  return ratio(held, optimizers_.size()) >= kNearlyAll;
}

bool StepLevels::are_steps(const StepLevel& level) const {
  if (level.steps.size() < kLeastSteps || !level.is_varied || level.touching < kTouching) return false;
  if (level.work == 0 && work_before_.back() > 0) return false;
  return level.share >= kSmallestLevel || hold_optimizers(level);
}

std::size_t StepLevels::kinds_in(ItemRange range) const { return kinds_in(std::vector<ItemRange>{range}, range); }

std::size_t StepLevels::kinds_in(const std::vector<ItemRange>& steps, ItemRange range) const {
  std::set<std::uint32_t> kinds;
  auto step = std::lower_bound(steps.begin(), steps.end(), range.begin,
                               [](ItemRange one, std::size_t item) { return one.begin < item; });
  for (; step != steps.end() && step->begin < range.end; ++step) {
    for (std::size_t i = step->begin; i < step->end; ++i) kinds.insert(items_.kinds[i]);
  }
  return kinds.size();
}

}  // namespace synctrace
