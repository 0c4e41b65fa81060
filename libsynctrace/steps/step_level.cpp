// SPDX-License-Identifier: Apache-2.0
#include "steps/step_level.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <utility>

#include "steps/step_limits.h"

namespace synctrace {

StepCutter::StepCutter(const StepItems& items, const std::vector<ItemRange>& ranges)
    : items_(items), ranges_(ranges), balance_(items.kind_count) {
  for (const ItemRange range : ranges) add(range, all_);
}

void StepCutter::add(ItemRange range, Amounts& amounts) const {
  amounts.items += static_cast<double>(range.size());
  const std::size_t last = std::min(range.end, items_.size() - 1);
  amounts.time_ns += static_cast<double>(items_.times_ns[last] - items_.times_ns[range.begin]);
  for (std::size_t i = range.begin; i < range.end; ++i) amounts.busy_ns += static_cast<double>(items_.busy_ns[i]);
}

// Returns 1 less half the sum of differences of shares.
double StepCutter::likeness(ItemRange a, ItemRange b) {
  if (items_.sum_of(a) == items_.sum_of(b) && a.size() == b.size()) return 1;
  for (std::size_t i = a.begin; i < a.end; ++i) ++balance_[items_.kinds[i]];
  for (std::size_t i = b.begin; i < b.end; ++i) --balance_[items_.kinds[i]];
  std::int64_t differing = 0;
  for (const ItemRange range : {a, b}) {
    for (std::size_t i = range.begin; i < range.end; ++i) {
      std::int32_t& balance = balance_[items_.kinds[i]];
      differing += std::abs(balance);
      balance = 0;
    }
  }
  return 1 - static_cast<double>(differing) / static_cast<double>(a.size() + b.size());
}

std::vector<StepCutter::Piece> StepCutter::pieces_of(const std::vector<std::size_t>& cuts) const {
  std::vector<Piece> pieces;
  auto range = ranges_.begin();
  for (std::size_t i = 0; i < cuts.size(); ++i) {
    while (range != ranges_.end() && range->end <= cuts[i]) ++range;
    if (range == ranges_.end()) break;
    if (cuts[i] < range->begin) continue;  // in no range
    const bool is_last = i + 1 == cuts.size() || cuts[i + 1] >= range->end;
    pieces.push_back({{cuts[i], is_last ? range->end : cuts[i + 1]}, is_last});
  }
  return pieces;
}

bool StepCutter::may_be_steps(const std::vector<std::size_t>& cuts) {
  const std::vector<Piece> pieces = pieces_of(cuts);
  if (pieces.size() < kLeastSteps) return false;
  std::size_t alike = 0;
  std::size_t pairs = 0;
  std::size_t items = 0;
  const std::size_t stride = pieces.size() / kMostPairs + 1;
  for (std::size_t i = 0; i + 1 < pieces.size() && items < kMostPairItems; i += stride) {
    if (pieces[i].is_last || pieces[i + 1].is_last) continue;
    // Compared as far as both go: one of them may go on with something else.
    const std::size_t size = std::min(pieces[i].range.size(), pieces[i + 1].range.size());
    const auto begin_of = [&](const Piece& piece) { return ItemRange{piece.range.begin, piece.range.begin + size}; };
    if (likeness(begin_of(pieces[i]), begin_of(pieces[i + 1])) >= kAlike) ++alike;
    items += 2 * size;
    ++pairs;
  }
  return pairs > 0 && static_cast<double>(alike) >= kNeighboursAlike.of(static_cast<double>(pairs));
}

// The most typical of some pieces of median size, and of the most frequent size near it: most others are like it. With
// two loops, the pieces of median size may be the last of their runs, with something behind them.
ItemRange StepCutter::typical_of(const std::vector<Piece>& pieces) {
  std::vector<std::size_t> sizes;
  for (const Piece& piece : pieces) {
    if (!piece.is_last) sizes.push_back(piece.range.size());
  }
  if (sizes.empty()) return {};
  const auto middle = sizes.begin() + static_cast<std::ptrdiff_t>(sizes.size() / 2);
  std::nth_element(sizes.begin(), middle, sizes.end());
  std::map<std::size_t, std::vector<ItemRange>> by_size;
  for (const Piece& piece : pieces) {
    const std::size_t size = piece.range.size();
    const auto to_median = ratio(size, *middle);
    if (!piece.is_last && to_median >= kLeastOfMedian && to_median <= kMostOfMedian)
      by_size[size].push_back(piece.range);
  }
  const auto most = std::max_element(by_size.begin(), by_size.end(),
                                     [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  const std::vector<ItemRange>& of_median = by_size[*middle];
  std::vector<ItemRange> candidates;
  for (const std::vector<ItemRange>* sort : {&of_median, &std::as_const(most->second)}) {
    for (std::size_t k = 0; k < kCandidates; ++k)
      candidates.push_back((*sort)[k * (sort->size() - 1) / (kCandidates - 1)]);
  }
  if (most->second.size() < kTimesAsFrequent * of_median.size()) candidates.resize(kCandidates);
  ItemRange best = of_median[of_median.size() / 2];
  double best_sum = -1;
  for (const ItemRange candidate : candidates) {
    double sum = 0;
    const std::size_t stride = pieces.size() / kMostPairs + 1;
    for (std::size_t i = 0; i < pieces.size(); i += stride) {
      if (pieces[i].range.size() <= kMostTimesCandidate * candidate.size()) sum += likeness(pieces[i].range, candidate);
    }
    if (sum > best_sum) best = candidate;
    best_sum = std::max(best_sum, sum);
  }
  return best;
}

StepCutter::Taken StepCutter::take(const Piece& piece, ItemRange typical) {
  const std::size_t size = piece.range.size();
  const std::size_t usual = typical.size();
  // Steps of many sizes, as of sentences, are no more than half again as long, and of the same kinds.
  const auto to_usual = ratio(size, usual);
  const bool may_be_whole =
      piece.is_last ? to_usual >= kNearlyWhole && to_usual <= kMostOfStep : to_usual <= kMostOfVariedStep;
  const double whole_alike = may_be_whole ? likeness(piece.range, typical) : 0;
  if (whole_alike >= kAlike && to_usual <= kMostOfStep) return {piece.range, whole_alike, false};
  if (size > usual) {
    const ItemRange part{piece.range.begin, piece.range.begin + usual};
    const ItemRange more{part.end, piece.range.end};
    const double part_alike = likeness(part, typical);
    const bool does_more = items_.count(more, StepItems::kWork) > 0;
    // A log line in a small step belongs to it: copies and waits.
    if (part_alike >= kPartAlike && !piece.is_last && more.size() <= kFewMore && !does_more)
      return {piece.range, part_alike, false};
    if (part_alike >= kPartAlike) return {part, part_alike, does_more};
  }
  if (whole_alike >= kAlike) return {piece.range, whole_alike, false};
  return {};
}

void StepCutter::measure(StepLevel& level) const {
  Amounts amounts;
  std::size_t touching = 0;
  std::size_t exchanging = 0;
  std::size_t optimizing = 0;
  for (std::size_t i = 0; i < level.steps.size(); ++i) {
    const ItemRange step = level.steps[i];
    add(step, amounts);
    if (i + 1 < level.steps.size() && step.end == level.steps[i + 1].begin) ++touching;
    bool exchanges = false;
    bool optimizes = false;
    for (std::size_t k = step.begin; k < step.end && !(exchanges && optimizes); ++k) {
      exchanges |= (items_.traits[k] & StepItems::kExchange) != 0;
      optimizes |= (items_.traits[k] & StepItems::kOptimizer) != 0;
    }
    exchanging += exchanges ? 1U : 0U;
    optimizing += optimizes ? 1U : 0U;
  }
  const auto count = static_cast<double>(level.steps.size());
  level.touching = level.steps.size() < 2 ? 0 : static_cast<double>(touching) / (count - 1);
  level.exchanging = static_cast<double>(exchanging) / count;
  level.optimizing = static_cast<double>(optimizing) / count;
  const auto share = [](double part, double whole) { return whole > 0 ? part / whole : 0; };
  level.share = std::max(
      {share(amounts.items, all_.items), share(amounts.time_ns, all_.time_ns), share(amounts.busy_ns, all_.busy_ns)});
  level.work = items_.count(level.typical, StepItems::kWork);
  const auto first = items_.kinds.begin() + static_cast<std::ptrdiff_t>(level.typical.begin);
  const auto last = items_.kinds.begin() + static_cast<std::ptrdiff_t>(level.typical.end);
  level.is_varied = items_.count(level.typical, StepItems::kGraph) > 0 ||
                    std::any_of(first, last, [&](std::uint32_t kind) { return kind != *first; });
}

bool StepCutter::are_kin(ItemRange step, ItemRange typical) {
  const std::size_t size = step.size();
  const std::size_t usual = typical.size();
  const std::size_t off = size > usual ? size - usual : usual - size;
  return off <= std::max<std::size_t>(1, kMostOff.of(usual)) && likeness(step, typical) >= kOddAlike;
}

// A step in which a record or two are missing.
bool StepCutter::lacks_little(ItemRange step, ItemRange typical) {
  return items_.count(step, StepItems::kWork) > 0 && are_kin(step, typical) &&
         likeness(step, typical) >= kAlikeWithLoss;
}

bool StepCutter::ends_range(std::size_t end) const {
  const auto range = std::lower_bound(ranges_.begin(), ranges_.end(), end,
                                      [](ItemRange one, std::size_t item) { return one.end < item; });
  return range != ranges_.end() && range->end == end;
}

bool StepCutter::begins_range(std::size_t begin) const {
  const auto range = std::lower_bound(ranges_.begin(), ranges_.end(), begin,
                                      [](ItemRange one, std::size_t item) { return one.begin < item; });
  return range != ranges_.end() && range->begin == begin;
}

StepLevel StepCutter::cut(std::vector<std::size_t> cuts, ItemRange typical) {
  StepLevel level;
  level.cuts = std::move(cuts);
  const std::vector<Piece> pieces = pieces_of(level.cuts);
  level.typical = typical.size() > 0 ? typical : typical_of(pieces);
  if (level.typical.size() == 0) return level;
  std::vector<Taken> taken;
  for (const Piece& piece : pieces) taken.push_back(take(piece, level.typical));
  double sum = 0;
  const bool exchanges = items_.count(level.typical, StepItems::kExchange) > 0;
  const std::size_t optimizers = items_.count(level.typical, StepItems::kOptimizer);
  bool all_optimize = true;      // all odd ones
  std::vector<ItemRange> odd;    // unlike any, between two steps: something went another way
  std::vector<ItemRange> later;  // behind the first of a piece: the records that mark them are missing
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    // Steps that go on with something else stand alone. In a row they are another loop's, which begins alike, unless
    // an optimizer's work in each says otherwise: behind the one comes sampling, behind the next validation.
    const auto goes_on = [&](std::size_t k) { return k < pieces.size() && taken[k].goes_on; };
    const bool is_in_row = goes_on(i) && (goes_on(i + 1) || (i > 0 && goes_on(i - 1)));
    if (is_in_row && (optimizers == 0 || items_.count(taken[i].step, StepItems::kOptimizer) != optimizers)) continue;
    if (taken[i].likeness == 0) {
      // An optimizer's work in each, as in the typical step, needs no step like that beside it.
      const bool optimizes = optimizers > 0 && items_.count(pieces[i].range, StepItems::kOptimizer) == optimizers;
      const bool follows = i > 0 && ((taken[i - 1].likeness > 0 && taken[i - 1].step.end == pieces[i].range.begin) ||
                                     (optimizes && !odd.empty() && odd.back().end == pieces[i].range.begin));
      const bool goes_before = i + 1 < pieces.size() && (optimizes || taken[i + 1].likeness > 0);
      if (follows && goes_before && !pieces[i].is_last && are_kin(pieces[i].range, level.typical)) {
        odd.push_back(pieces[i].range);
        all_optimize = all_optimize && optimizes;
      }
      continue;
    }
    level.steps.push_back(taken[i].step);
    sum += taken[i].likeness;
    if (taken[i].likeness >= kExact) ++level.exact;
    for (Piece rest = pieces[i]; level.typical.size() > 0;) {
      rest.range.begin =
          later.empty() || later.back().end <= pieces[i].range.begin ? taken[i].step.end : later.back().end;
      const bool may_lack = !rest.is_last && lacks_little(rest.range, level.typical);
      if (ratio(rest.range.size(), level.typical.size()) < kNearlyWhole && !may_lack) break;
      const Taken more = take(rest, level.typical);
      if (more.likeness == 0 && may_lack) later.push_back(rest.range);
      // Without what steps exchange with the host it is the begin of another loop, unless a step comes right behind it.
      const bool is_cut_off = rest.is_last || more.step.end < rest.range.end;
      if (more.likeness == 0 || (is_cut_off && exchanges && items_.count(more.step, StepItems::kExchange) == 0)) break;
      later.push_back(more.step);
    }
  }
  if (level.steps.empty()) return level;
  level.taken = level.steps.size();
  level.likeness_sum = sum;
  level.likeness = sum / static_cast<double>(level.taken);
  const std::size_t count = level.steps.size();
  // If steps have many lengths, each with kernels of its own, up to a third may be odd.
  const auto add_rare = [&](const std::vector<ItemRange>& rare, Share most) {
    if (ratio(rare.size(), count) <= most) level.steps.insert(level.steps.end(), rare.begin(), rare.end());
  };
  add_rare(odd, all_optimize ? kMostOddOptimizing : kMostOdd);
  add_rare(later, kMostOdd);
  std::sort(level.steps.begin(), level.steps.end(), [](ItemRange a, ItemRange b) { return a.begin < b.begin; });
  measure(level);
  return level;
}

StepLevel StepCutter::of(std::vector<ItemRange> steps) {
  StepLevel level;
  if (steps.empty()) return level;
  level.steps = std::move(steps);
  for (const ItemRange step : level.steps) level.cuts.push_back(step.begin);
  std::vector<ItemRange> by_size = level.steps;
  const auto middle = by_size.begin() + static_cast<std::ptrdiff_t>(by_size.size() / 2);
  std::nth_element(by_size.begin(), middle, by_size.end(),
                   [](ItemRange a, ItemRange b) { return a.size() < b.size(); });
  level.typical = *middle;
  for (const ItemRange step : level.steps) {
    const double alike = likeness(step, level.typical);
    level.likeness_sum += alike;
    level.exact += alike >= kExact ? 1U : 0U;
  }
  level.taken = level.steps.size();
  level.likeness = level.likeness_sum / static_cast<double>(level.taken);
  measure(level);
  return level;
}

}  // namespace synctrace
