// SPDX-License-Identifier: Apache-2.0
// Times of runs of one program, as machines make them: the noise by which trials are tried. Logarithms of times.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string_view>
#include <vector>

#include "trial/effect.h"
#include "trial/verdict.h"

namespace synctrace::testing {

inline constexpr std::string_view kNoises[] = {
    "normal",       // each run by itself
    "heavy",        // Student's distribution with two degrees of freedom
    "cauchy",       // no mean at all
    "two modes",    // each run is fast or slow, with the same chance
    "rare mode",    // one of ten is slow
    "outliers",     // one of twenty takes up to half as long again
    "drift",        // faster or slower from run to run
    "walk",         // the machine wanders
    "alike",        // neighbours are alike
    "phases",       // the machine changes now and then
    "uniform",      //
    "exponential",  // never faster than so much
    "cold",         // the first runs are slower
};

// One trial's machine. The same seed gives the same runs.
class NoisyMachine {
 public:
  NoisyMachine(std::string_view kind, double size, std::uint64_t seed) : kind_(kind), size_(size), random_(seed) {
    state_ = normal();
    slope_ = 0.02 * normal();
  }

  double next() {
    ++runs_;
    const double small = 0.2 * size_ * normal();
    if (kind_ == "heavy") {
      const double top = normal();
      const double a = normal();
      const double b = normal();
      return size_ * top / std::sqrt((a * a + b * b) / 2.0);
    }
    if (kind_ == "cauchy") return size_ * normal() / std::fabs(normal());
    if (kind_ == "two modes") return (chance() < 0.5 ? 3.0 * size_ : 0.0) + 0.25 * small;
    if (kind_ == "rare mode") return (chance() < 0.1 ? 3.0 * size_ : 0.0) + 0.25 * small;
    if (kind_ == "outliers") return (chance() < 0.05 ? 10.0 * size_ * chance() : 0.0) + small;
    if (kind_ == "drift") return slope_ * static_cast<double>(runs_) + small;
    if (kind_ == "walk") return (walk_ += 0.5 * size_ * normal()) + small;
    if (kind_ == "alike") return size_ * (state_ = 0.8 * state_ + 0.6 * normal());
    if (kind_ == "phases") {
      if (chance() < 0.1) walk_ = 3.0 * size_ * normal();
      return walk_ + small;
    }
    if (kind_ == "uniform") return size_ * (chance() - 0.5);
    if (kind_ == "exponential") return -size_ * std::log(1.0 - chance());
    if (kind_ == "cold") return small + 3.0 * size_ * std::exp(static_cast<double>(-runs_) / 3.0);
    return size_ * normal();
  }

 private:
  double normal() { return normal_(random_); }
  double chance() { return uniform_(random_); }

  std::string_view kind_;
  double size_;
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
  std::uniform_real_distribution<double> uniform_;
  double state_ = 0.0;
  double slope_ = 0.0;
  double walk_ = 0.0;
  std::size_t runs_ = 0;
};

struct DrawnTrial {
  TrialVerdict verdict = TrialVerdict::kUndecided;
  std::size_t pairs = 0;
};

// A trial as the command makes it: pairs take turns in who begins, and each look may end it. `next` gives logarithms.
template <class Next>
DrawnTrial draw_trial(std::size_t most_pairs, double effect, bool ends_when_same, const TrialRule& rule, Next next) {
  std::vector<TimedPair> pairs;
  while (pairs.size() < most_pairs) {
    const double first = next();
    const double second = next();
    const bool is_turned = pairs.size() % 2 == 1;
    pairs.push_back({std::exp(is_turned ? second : first), std::exp((is_turned ? first : second) + effect)});
    if (!is_look(pairs.size())) continue;
    const TrialVerdict verdict = judge(pairs, rule);
    if (verdict == TrialVerdict::kUndecided || (verdict == TrialVerdict::kSame && !ends_when_same)) continue;
    return {verdict, pairs.size()};
  }
  return {TrialVerdict::kUndecided, pairs.size()};
}

}  // namespace synctrace::testing
