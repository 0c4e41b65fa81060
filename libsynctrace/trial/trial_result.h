// SPDX-License-Identifier: Apache-2.0
// What a trial found: all that its outputs say.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trial/effect.h"
#include "trial/prediction.h"
#include "trial/verdict.h"

namespace synctrace {

// The same output of both sides, compared.
struct ComparedOutput {
  std::string pattern;
  double tolerance = 0.0;
  std::string before;  // the last value of the first run; empty: nothing matched
  std::string after;
  bool is_equal = true;
};

enum class TrialEnd : std::uint8_t {
  kDecided,
  kTimeLimit,
  kManyPairs,
  kInterrupted,
  kFailed,     // a run did: TimedTrial::failure says which
  kDifferent,  // both sides do not do the same
};

struct TrialSide {
  std::string command;  // the words that were typed
  std::string state;    // "HEAD with fix.diff"; empty: as it is
  std::optional<int> exit_status;
};

struct TimedTrial {
  TrialSide before;
  TrialSide after;
  bool by_steps = false;  // the program's own figure counts, and not the run's time
  bool is_rate = false;   // more of it is better
  std::string pattern;    // the pattern that finds the figure
  std::vector<TimedPair> pairs;
  TrialRule rule;
  std::optional<ComparedPrediction> prediction;
  std::optional<ComparedOutput> same;
  TrialEnd end = TrialEnd::kTimeLimit;
  std::string failure;             // a sentence
  std::vector<std::string> notes;  // sentences
  double limit_s = 0.0;
  double taken_s = 0.0;
  std::string gpu;

  Effect effect() const { return effect_of(pairs); }
  TrialVerdict verdict() const { return judge(pairs, rule); }
  bool is_different() const { return end == TrialEnd::kDifferent || (same && !same->is_equal); }
};

// What a run of a side took: the middle one.
double middle_before(const TimedTrial& result);
double middle_after(const TimedTrial& result);
// A time of TimedPair as the program prints it: a rate, where it prints rates.
double shown_figure(const TimedTrial& result, double time);

}  // namespace synctrace
