// SPDX-License-Identifier: Apache-2.0
#include "whatif/bounds.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace synctrace {
namespace {

// A saving of which less than this is certain to stay counts as roughly known.
constexpr Share kSure = percent(50);
constexpr Share kMuchUncertain = percent(10);

// Half the width of the 95 % interval of what steps gain, as a part of their time, by a bootstrap of blocks of steps in
// a row: neighbouring steps are alike, so single ones would make it look too sure. A part of their time, because steps
// that are long for the reason that is fixed gain more: how many of them there are is not the question.
Nanoseconds scatter(const std::vector<Nanoseconds>& gains, const std::vector<Nanoseconds>& times) {
  constexpr std::size_t kRounds = 200;
  const std::size_t count = gains.size();
  if (count < 4) return 0;
  const auto add = [](double sum, Nanoseconds ns) { return sum + static_cast<double>(ns); };
  const double whole = std::accumulate(times.begin(), times.end(), 0.0, add);
  const std::size_t block = std::max<std::size_t>(1, static_cast<std::size_t>(std::sqrt(static_cast<double>(count))));
  std::mt19937_64 random(1);  // the same trace gives the same report
  std::vector<double> parts;
  for (std::size_t round = 0; round < kRounds; ++round) {
    double sum = 0;
    double time = 0;
    std::size_t taken = 0;
    while (taken < count) {
      const std::size_t from = random() % count;
      for (std::size_t i = 0; i < block && taken < count; ++i, ++taken) {
        sum += static_cast<double>(gains[(from + i) % count]);
        time += static_cast<double>(times[(from + i) % count]);
      }
    }
    parts.push_back(time <= 0 ? 0 : sum / time);
  }
  std::sort(parts.begin(), parts.end());
  // More than all of the time is no answer: steps of a damaged trace may have next to none.
  const double half = std::min(1.0, (parts[kRounds * 975 / 1000] - parts[kRounds * 25 / 1000]) / 2);
  return static_cast<Nanoseconds>(whole * half);
}

// `lengths` must outlive the corner.
Corner with_lengths(Corner corner, const KernelLengths& lengths) noexcept {
  corner.lengths = lengths.empty() ? nullptr : &lengths;
  return corner;
}

std::vector<Trial> typical_trials(std::span<const Changed> changes) {
  std::vector<Trial> trials;
  for (const Changed& each : changes) trials.push_back({each.sites, with_lengths({}, each.usual)});
  return trials;
}

// In a damaged trace the sample may take next to nothing, and stand for any time.
Nanoseconds as_time(double ns) noexcept {
  const auto most = static_cast<double>(kLatestTime);
  return static_cast<Nanoseconds>(std::clamp(ns, -most, most));
}

}  // namespace

Corner optimistic_corner() noexcept {
  return {Corner::Latency::kLow, Corner::Use::kNever, true, false, false, nullptr};
}
Corner pessimistic_corner() noexcept {
  return {Corner::Latency::kHigh, Corner::Use::kNextWait, false, true, true, nullptr};
}

Bounds::Bounds(const Evaluator& evaluator, double uncertain_share)
    : evaluator_(evaluator), uncertain_share_(uncertain_share) {
  const Trial nothing_fixed;
  const Changed nothing_changed;
  base_ = std::move(evaluator.run(evaluator.whole(), {&nothing_fixed, 1}, true).front());
  sample_base_ns_ = times_in_corners({&nothing_changed, 1}, typical_of_sample({&nothing_changed, 1})).front();
}

TimeSpan Bounds::base_range() const noexcept {
  const double scale = whole_per_sample();
  const auto [least, most] =
      std::minmax({sample_base_ns_[kTypical], sample_base_ns_[kLessOff], sample_base_ns_[kMoreOff]});
  return {as_time(scale * static_cast<double>(least)), as_time(scale * static_cast<double>(most))};
}

Nanoseconds Bounds::least_gain_ns() const noexcept {
  return static_cast<Nanoseconds>(kModelError.of(static_cast<double>(base_.time_ns)));
}

std::vector<TrialResult> Bounds::typical_of_sample(std::span<const Changed> changes) const {
  return evaluator_.run(evaluator_.sample(), typical_trials(changes), false);
}

std::vector<Bounds::Corners> Bounds::times_in_corners(std::span<const Changed> changes,
                                                      std::vector<TrialResult> typical) const {
  const std::vector<Trial> usual = typical_trials(changes);
  std::vector<Trial> extremes;
  for (const Changed& each : changes) {
    extremes.push_back({each.sites, with_lengths(optimistic_corner(), each.least)});
    extremes.push_back({each.sites, with_lengths(pessimistic_corner(), each.most)});
  }
  const Stretch& sample = evaluator_.sample();
  const std::vector<TrialResult> extreme = evaluator_.run(sample, extremes, false);
  const std::vector<TrialResult> less_off = evaluator_.run(sample, usual, false, RecorderOff::kLess);
  const std::vector<TrialResult> more_off = evaluator_.run(sample, usual, false, RecorderOff::kMore);
  std::vector<Corners> times;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    times.push_back({typical[i].time_ns, extreme[2 * i].time_ns, extreme[2 * i + 1].time_ns, less_off[i].time_ns,
                     more_off[i].time_ns});
  }
  return times;
}

std::vector<Bounds::Reach> Bounds::reaches(std::span<const Changed> changes, std::vector<TrialResult> typical) const {
  const double scale = whole_per_sample();
  std::vector<Reach> reaches;
  for (const Corners& times : times_in_corners(changes, std::move(typical))) {
    const auto gain = [&](std::size_t corner) { return static_cast<double>(sample_base_ns_[corner] - times[corner]); };
    // A program that takes less or more by itself gains the same part.
    const auto as_typical = [&](std::size_t corner) {
      return gain(corner) * static_cast<double>(sample_base_ns(kTypical)) / static_cast<double>(sample_base_ns(corner));
    };
    const auto [least, most] = std::minmax(
        {gain(kTypical), gain(kOptimistic), gain(kPessimistic), as_typical(kLessOff), as_typical(kMoreOff)});
    reaches.push_back({as_time(scale * (gain(kTypical) - least)), as_time(scale * (most - gain(kTypical)))});
  }
  return reaches;
}

Interval Bounds::interval_of(const TrialResult& typical, Reach reach) const {
  Interval interval;
  // Work without a recorded call begins by the clock. Where a fix takes away a long pause before it, steps seem longer.
  interval.ns = std::max<Nanoseconds>(0, base_.time_ns - typical.time_ns);
  std::vector<Nanoseconds> gains;
  for (std::size_t i = 0; i < typical.steps.size() && i < base_.steps.size(); ++i)
    gains.push_back(base_.steps[i] - typical.steps[i]);
  const Nanoseconds around_ns = scatter(gains, base_.steps) + least_gain_ns();
  interval.lo_ns = std::max<Nanoseconds>(0, interval.ns - reach.down_ns - around_ns);
  interval.hi_ns = std::min(interval.ns + reach.up_ns + around_ns, base_.time_ns);
  if (interval.lo_ns <= 0) return interval;
  const bool sure = static_cast<double>(interval.lo_ns) >= kSure.of(static_cast<double>(interval.ns));
  interval.grade = sure ? (uncertain_share_ <= kMuchUncertain ? Grade::kHigh : Grade::kMedium) : Grade::kLow;
  return interval;
}

std::vector<Interval> Bounds::savings(std::span<const FixSet> sets, std::vector<TrialResult>* typical) const {
  std::vector<Changed> changes;
  for (const FixSet& set : sets) changes.push_back({set});
  return savings(changes, typical);
}

std::vector<Nanoseconds> Bounds::sample_savings(std::span<const Changed> changes) const {
  std::vector<Nanoseconds> savings;
  for (const TrialResult& result : typical_of_sample(changes))
    savings.push_back(sample_base_ns_[kTypical] - result.time_ns);
  return savings;
}

std::vector<Interval> Bounds::savings(std::span<const Changed> changes, std::vector<TrialResult>* typical) const {
  std::vector<TrialResult> results = evaluator_.run(evaluator_.whole(), typical_trials(changes), true);
  const std::vector<Reach> found = reaches(changes, evaluator_.is_sampled() ? typical_of_sample(changes) : results);
  std::vector<Interval> intervals;
  for (std::size_t i = 0; i < changes.size(); ++i) intervals.push_back(interval_of(results[i], found[i]));
  if (typical != nullptr) *typical = std::move(results);
  return intervals;
}

}  // namespace synctrace
