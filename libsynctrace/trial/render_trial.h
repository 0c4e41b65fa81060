// SPDX-License-Identifier: Apache-2.0
// A trial's result as each output says it.
#pragma once

#include <string>

#include "trial/trial_result.h"

namespace synctrace {

inline constexpr int kTrialSchemaVersion = 1;

// What scripts may rely on, as the command's status is.
enum class TrialStatus : int { kGood = 0, kBad = 1, kFailed = 3, kUndecided = 4 };
TrialStatus status_of(const TimedTrial& result);

std::string render_trial_text(const TimedTrial& result);
std::string render_trial_json(const TimedTrial& result);
std::string render_trial_markdown(const TimedTrial& result);
std::string render_trial_junit(const TimedTrial& result);

}  // namespace synctrace
