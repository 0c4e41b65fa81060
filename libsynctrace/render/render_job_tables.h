// SPDX-License-Identifier: Apache-2.0
// A job of several ranks for issues and for spreadsheets: its ranks, what they waited for, and what to change.
#pragma once

#include <string>

#include "findings/report/job_report.h"

namespace synctrace {

std::string render_job_markdown(const JobReport& report);

// One row for each GPU of each rank, one for each rank that it waited for, and one for each cause with each rank that
// was late by it. Times are ns, of the ordinary steps.
std::string render_job_csv(const JobReport& report);

}  // namespace synctrace
