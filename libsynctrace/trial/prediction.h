// SPDX-License-Identifier: Apache-2.0
// What a recording's report promised of a change, beside what was timed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "findings/report/report.h"
#include "trial/effect.h"

namespace synctrace {

// One of the numbered changes of the report, made alone. Times are seconds of all steps that the recording has, without
// what the recorder cost; where it found no steps, of all of it.
struct PredictedSaving {
  std::size_t change = 0;  // its number in the report, from 1
  std::string title;
  std::string trace;
  double saving_s = 0.0;
  double low_s = 0.0;
  double high_s = 0.0;
  double steps_s = 0.0;
  bool by_steps = false;
};

// A sentence where the report has no such change.
Result<PredictedSaving> predicted_saving(const Report& report, std::size_t change, const std::string& trace);

enum class Agreement : std::uint8_t { kUndecided, kAgrees, kLess, kMore };
std::string_view agreement_words(Agreement agreement) noexcept;  // "agrees", "less", "more", ...

// Shares of the time that was timed.
struct ComparedPrediction {
  PredictedSaving saving;
  bool of_steps = false;     // the share is that of a step, or else of a whole run
  double steps_share = 1.0;  // the part of a run; more than 1: the recording has longer runs
  double gain = 0.0;
  double low = 0.0;
  double high = 0.0;
  Agreement agreement = Agreement::kUndecided;
  bool is_comparable() const noexcept { return steps_share <= kLongestSteps; }

  static constexpr double kLongestSteps = 1.05;
};

// A prediction is held to its range, and to a hundredth of the time beyond it.
inline constexpr double kBesideRange = 0.01;

// `run_s`: what a run of the first side takes; 0 where steps are timed.
ComparedPrediction compare_prediction(const PredictedSaving& saving, double run_s, const Effect& effect);

}  // namespace synctrace
