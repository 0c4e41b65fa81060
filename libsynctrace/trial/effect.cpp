// SPDX-License-Identifier: Apache-2.0
#include "trial/effect.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "trial/chances.h"

namespace synctrace {
namespace {

// The chance that one look by one of the three ways is wrong. With it all looks of a trial together are wrong in less
// than one of twenty: found by drawing trials, which tests/unit/trial does again.
constexpr double kLevelOfALook = 0.001;

// A part of the time that no difference of two processes is smaller than.
constexpr double kResolution = 0.0005;

constexpr std::size_t kLooksAtEach = 20;

// An interval of logarithms.
struct Span {
  double middle = 0.0;
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  double width() const { return high - low; }
};

double mean_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double squares_of(std::span<const double> values, double mean) {
  double sum = 0.0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  return sum;
}

// Asked for at each look of each trial that a test draws.
double limit_of_a_look(std::size_t degrees_of_freedom) {
  static const std::vector<double> limits = [] {
    std::vector<double> all = {0.0};
    while (all.size() < 2 * kMostPairs) all.push_back(student_limit(kLevelOfALook, all.size()));
    return all;
  }();
  return limits[std::min(degrees_of_freedom, limits.size() - 1)];
}

Span around(double middle, double half) { return {middle, middle - half, middle + half}; }

// Best where the machine changes slowly: the runs of a pair have it in common.
Span by_pairs(std::span<const double> before, std::span<const double> after) {
  std::vector<double> changes;
  for (std::size_t i = 0; i < before.size(); ++i) changes.push_back(after[i] - before[i]);
  const double count = static_cast<double>(changes.size());
  const double mean = mean_of(changes);
  const double error = std::sqrt(squares_of(changes, mean) / (count - 1.0) / count);
  return around(mean, error * limit_of_a_look(changes.size() - 1));
}

// Best where each run differs by itself: both sides tell how much.
Span by_sides(std::span<const double> before, std::span<const double> after) {
  const double count = static_cast<double>(before.size());
  const double low = mean_of(before);
  const double high = mean_of(after);
  const double squares = squares_of(before, low) + squares_of(after, high);
  const double error = std::sqrt(squares / (count - 1.0) / count);
  return around(high - low, error * limit_of_a_look(2 * before.size() - 2));
}

// Best where single runs are far off. It needs no more than that the runs of two equal sides could be exchanged.
Span by_ranks(std::span<const double> before, std::span<const double> after) {
  const long limit = rank_limit(kLevelOfALook, before.size());
  if (limit < 0) return {};
  std::vector<double> changes;
  for (const double one : before) {
    for (const double other : after) changes.push_back(other - one);
  }
  const auto at = [&](std::size_t place) {
    const auto found = changes.begin() + static_cast<std::ptrdiff_t>(place);
    std::nth_element(changes.begin(), found, changes.end());
    return *found;
  };
  const std::size_t last = changes.size() - 1;
  const auto left_out = static_cast<std::size_t>(limit);
  return {(at(last / 2) + at(last - last / 2)) / 2.0, at(left_out), at(last - left_out)};
}

}  // namespace

bool is_look(std::size_t pairs) noexcept {
  if (pairs < kFewestPairs) return false;
  return pairs <= kLooksAtEach || pairs % (pairs / 5) == 0;
}

Effect effect_of(std::span<const TimedPair> pairs) {
  std::vector<double> before;
  std::vector<double> after;
  for (const TimedPair& pair : pairs) {
    before.push_back(std::log(pair.before));
    after.push_back(std::log(pair.after));
  }
  Span best;
  if (pairs.size() >= kFewestPairs) {
    best = by_pairs(before, after);
    for (const Span& other : {by_sides(before, after), by_ranks(before, after)}) {
      if (other.width() < best.width()) best = other;
    }
  } else if (!pairs.empty()) {
    best.middle = mean_of(after) - mean_of(before);
  }
  return {std::exp(best.middle), std::exp(best.low - kResolution), std::exp(best.high + kResolution)};
}

}  // namespace synctrace
