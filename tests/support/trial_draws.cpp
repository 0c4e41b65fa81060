// SPDX-License-Identifier: Apache-2.0
// Draws trials, and judges them by the statistics of `synctrace try` itself. Rows of CSV go to stdout.
//   trial_draws noise TRIALS PAIRS SIZE [EFFECT]   from made noise: no difference, or one of EFFECT (0.02: 2 % longer)
//   trial_draws stored FILE TRIALS PAIRS [EFFECT]  from stored times of one program, a number a line: half of the
//                                                  trials draw runs at random, half take runs in a row
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "support/trial_noise.h"

namespace {

using namespace synctrace;
using synctrace::testing::DrawnTrial;

class Tally {
 public:
  void add(const DrawnTrial& trial) {
    ++verdicts_[static_cast<std::size_t>(trial.verdict)];
    if (trial.verdict != TrialVerdict::kUndecided) pairs_.push_back(trial.pairs);
  }

  void print(const std::string& kind) {
    std::sort(pairs_.begin(), pairs_.end());
    const auto part = [&](std::size_t tenths) {
      return pairs_.empty() ? 0 : pairs_[std::min(pairs_.size() - 1, pairs_.size() * tenths / 10)];
    };
    const auto count = [&](TrialVerdict verdict) { return verdicts_[static_cast<std::size_t>(verdict)]; };
    std::printf("%s,%zu,%zu,%zu,%zu,%zu,%zu\n", kind.c_str(), count(TrialVerdict::kFaster),
                count(TrialVerdict::kSlower), count(TrialVerdict::kSame), count(TrialVerdict::kUndecided), part(5),
                part(9));
  }

 private:
  std::size_t verdicts_[4] = {};
  std::vector<std::size_t> pairs_;
};

int draw_noise(std::size_t trials, std::size_t pairs, double size, double effect) {
  for (const std::string_view kind : synctrace::testing::kNoises) {
    Tally tally;
    for (std::size_t i = 0; i < trials; ++i) {
      synctrace::testing::NoisyMachine machine(kind, size, 1'000'003 * (i + 1));
      tally.add(synctrace::testing::draw_trial(pairs, effect, true, {}, [&] { return machine.next(); }));
    }
    tally.print(std::string(kind));
  }
  return 0;
}

int draw_stored(const char* path, std::size_t trials, std::size_t pairs, double effect) {
  std::ifstream file(path);
  std::vector<double> stored;
  for (double time = 0.0; file >> time;) {
    if (time > 0.0) stored.push_back(std::log(time));
  }
  if (stored.size() < 2 * pairs) return std::fprintf(stderr, "%s has too few times\n", path), 1;
  std::mt19937_64 random(1);
  std::uniform_int_distribution<std::size_t> any(0, stored.size() - 1);
  for (const bool in_a_row : {false, true}) {
    Tally tally;
    for (std::size_t i = 0; i < trials / 2; ++i) {
      std::size_t at = any(random);
      const auto next = [&] { return stored[in_a_row ? at++ % stored.size() : any(random)]; };
      tally.add(synctrace::testing::draw_trial(pairs, effect, true, {}, next));
    }
    tally.print(in_a_row ? "in a row" : "at random");
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  const auto number = [&](int at, double otherwise) { return argc > at ? std::atof(argv[at]) : otherwise; };
  if ((mode != "noise" && mode != "stored") || argc < 5)
    return std::fprintf(stderr, "trial_draws noise TRIALS PAIRS SIZE [EFFECT] | stored FILE TRIALS PAIRS [EFFECT]\n"),
           2;
  std::printf("kind,faster,slower,same,undecided,pairs_median,pairs_p90\n");
  const double effect = std::log1p(number(5, 0.0));
  if (mode == "noise")
    return draw_noise(static_cast<std::size_t>(number(2, 0)), static_cast<std::size_t>(number(3, 0)), number(4, 0),
                      effect);
  return draw_stored(argv[2], static_cast<std::size_t>(number(3, 0)), static_cast<std::size_t>(number(4, 0)), effect);
}
