// SPDX-License-Identifier: Apache-2.0
// The words of a trial's result, which all outputs share.
#pragma once

#include <string>
#include <string_view>

#include "trial/trial_result.h"

namespace synctrace {

// "faster: 8.3 % less time (7.9 to 8.8 %)"
std::string verdict_sentence(const TimedTrial& result);
// "decided by 4 pairs of runs in 112 s"
std::string end_sentence(const TimedTrial& result);
// "12.31 s", or the program's own figure.
std::string figure_text(const TimedTrial& result, double time);
// "the whole run's time"
std::string figure_words(const TimedTrial& result);
// "9.0 % (7.0 to 10.0 %) of a step for change 2 of run.synctrace: agrees"
std::string prediction_sentence(const ComparedPrediction& prediction);
// "agrees", or why it cannot be said.
std::string_view answer_words(const ComparedPrediction& prediction) noexcept;
std::string same_sentence(const ComparedOutput& same);
std::string_view end_word(TrialEnd end) noexcept;  // "time-limit"

}  // namespace synctrace
