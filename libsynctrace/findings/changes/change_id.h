// SPDX-License-Identifier: Apache-2.0
// What a change is known by, from one recording of a program to the next: "ST020-4f1c9a", its rule and six digits that
// stand for its place. A line that moves within its function keeps its id.
#pragma once

#include <string>
#include <vector>

#include "findings/report/job_report.h"
#include "findings/report/report.h"

namespace synctrace {

// An id for each row of SavingsReport::remedies, all different.
std::vector<std::string> change_ids(const Report& report);

// Likewise for JobReport::causes, and behind them for JobReport::patterns.
std::vector<std::string> change_ids(const JobReport& report);

}  // namespace synctrace
