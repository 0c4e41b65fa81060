// SPDX-License-Identifier: Apache-2.0
// The record of trials: a line of JSON for each, in a file that the user names, and that rollup takes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time_span.h"
#include "trial/trial_result.h"

namespace synctrace {

// Parts of the time are in millionths. Without a prediction `change` is 0, and so are the predicted parts.
struct TrialRow {
  Nanoseconds ended_ns = 0;  // since 1970
  std::string program;
  std::string gpu;
  std::int64_t change = 0;
  std::string title;
  std::string of;  // "step" or "run"
  std::int64_t predicted_ppm = 0;
  std::int64_t predicted_lo_ppm = 0;
  std::int64_t predicted_hi_ppm = 0;
  std::int64_t timed_ppm = 0;
  std::int64_t timed_lo_ppm = 0;
  std::int64_t timed_hi_ppm = 0;
  std::string verdict;
  std::string answer;  // empty: there was no prediction
  std::int64_t pairs = 0;
};

// Whether enough was timed for a row.
bool has_row(const TimedTrial& result);
TrialRow trial_row(const TimedTrial& result, Nanoseconds ended_ns);

inline constexpr std::string_view kTrialRowBegin = "{\"schema_version\":1,\"tool\":\"synctrace try\",";
std::string row_text(const TrialRow& row);  // with its line end

inline constexpr std::size_t kMostTrialBytes = std::size_t{64} << 20;
// A sentence that names the line where one is no row.
Result<std::vector<TrialRow>> read_trial_rows(std::string_view text);

}  // namespace synctrace
