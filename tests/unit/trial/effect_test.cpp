// SPDX-License-Identifier: Apache-2.0
// Draws trials with fixed seeds: how often equal programs are called different, and after how many pairs a difference
// is.
#include "trial/effect.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "support/catch.h"
#include "support/trial_noise.h"

using namespace synctrace;
using synctrace::testing::draw_trial;
using synctrace::testing::DrawnTrial;
using synctrace::testing::NoisyMachine;

namespace {

constexpr std::uint64_t kSeeds = 7'919;

double called_of_equal(std::string_view kind, std::size_t trials, std::size_t pairs) {
  std::size_t called = 0;
  for (std::size_t i = 0; i < trials; ++i) {
    NoisyMachine machine(kind, 0.05, kSeeds * (i + 1));
    // What is called the same goes on: this is about the interval, whenever one looks.
    const DrawnTrial trial = draw_trial(pairs, 0.0, false, {}, [&] { return machine.next(); });
    called += trial.verdict == TrialVerdict::kFaster || trial.verdict == TrialVerdict::kSlower ? 1 : 0;
  }
  return static_cast<double>(called) / static_cast<double>(trials);
}

std::vector<TimedPair> pairs_of(const std::vector<double>& before, const std::vector<double>& after) {
  std::vector<TimedPair> pairs;
  for (std::size_t i = 0; i < before.size(); ++i) pairs.push_back({before[i], after[i]});
  return pairs;
}

}  // namespace

// Seeds are fixed, so the answer is the same each time. Two modes are called most often, in about 4 of 100.
TEST_CASE("equal programs are called different in one of twenty trials at most, whatever the noise") {
  for (const std::string_view kind : synctrace::testing::kNoises) {
    INFO(std::string(kind));
    CHECK(called_of_equal(kind, 2'000, 15) <= 0.05);
  }
}

TEST_CASE("equal programs are not called different by looking a hundred times") {
  for (const std::string_view kind : {"normal", "two modes", "heavy", "alike"}) {
    INFO(std::string(kind));
    CHECK(called_of_equal(kind, 300, kMostPairs) <= 0.065);
  }
}

TEST_CASE("a difference is called within few pairs, by its sign") {
  struct Case {
    double effect;
    double noise;
    std::size_t most_pairs;  // nine of ten trials need no more
  };
  for (const Case& each : {Case{0.01, 0.002, 5}, Case{0.02, 0.002, 4}, Case{0.05, 0.002, 3}, Case{0.2, 0.002, 3},
                           Case{0.2, 0.02, 4}, Case{0.2, 0.1, 13}}) {
    INFO(each.effect << " " << each.noise);
    constexpr std::size_t kTrials = 200;
    std::size_t right = 0;
    for (std::size_t i = 0; i < kTrials; ++i) {
      NoisyMachine machine("normal", each.noise, kSeeds * (i + 1));
      const bool is_slower = i % 2 == 0;
      const DrawnTrial trial =
          draw_trial(each.most_pairs, (is_slower ? 1.0 : -1.0) * each.effect, true, {}, [&] { return machine.next(); });
      right += trial.verdict == (is_slower ? TrialVerdict::kSlower : TrialVerdict::kFaster) ? 1 : 0;
    }
    CHECK(right >= kTrials * 9 / 10);
  }
}

TEST_CASE("a run that is far off hides no difference of twelve pairs") {
  std::vector<double> before;
  std::vector<double> after;
  for (int i = 0; i < 12; ++i) {
    before.push_back(1.0 + 0.001 * i);
    after.push_back(0.9 + 0.001 * i);
  }
  after[3] = 5.0;
  const Effect effect = effect_of(pairs_of(before, after));
  CHECK(effect.high < 1.0);
  CHECK(effect.ratio > 0.88);
  CHECK(effect.ratio < 0.92);
}

TEST_CASE("a machine that becomes slower from pair to pair hides no difference") {
  std::vector<double> before;
  std::vector<double> after;
  for (int i = 0; i < 6; ++i) {
    const double pace = 1.0 + 0.2 * i;
    before.push_back(pace);
    after.push_back(pace * (0.95 + 0.0005 * (i % 3)));
  }
  CHECK(effect_of(pairs_of(before, after)).high < 1.0);
}

TEST_CASE("two pairs say nothing, and three equal ones say all") {
  const Effect two = effect_of(pairs_of({1.0, 1.0}, {0.5, 0.5}));
  CHECK(two.low == 0.0);
  CHECK(std::isinf(two.high));
  const Effect three = effect_of(pairs_of({1.0, 1.0, 1.0}, {0.5, 0.5, 0.5}));
  CHECK(std::fabs(three.ratio - 0.5) < 1e-9);
  CHECK(three.low > 0.499);
  CHECK(three.high < 0.501);
}

TEST_CASE("no pair at all is no effect") {
  const Effect none = effect_of({});
  CHECK(none.ratio == 1.0);
  CHECK(std::isinf(none.high));
}

TEST_CASE("looks become rare") {
  std::size_t looks = 0;
  for (std::size_t pairs = 0; pairs <= kMostPairs; ++pairs) looks += is_look(pairs) ? 1 : 0;
  CHECK_FALSE(is_look(2));
  CHECK(is_look(3));
  CHECK(is_look(kMostPairs));
  CHECK(looks < 45);
}
