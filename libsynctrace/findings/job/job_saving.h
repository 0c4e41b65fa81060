// SPDX-License-Identifier: Apache-2.0
// What changing one line of a job saves, with a range.
#pragma once

#include "findings/report/job_report.h"
#include "ranks/blame.h"

namespace synctrace {

// The report has its ranks with their times, base_ns, alike_ns and the usual rank.
Interval saving_of(const BlameRow& row, const JobReport& report);

}  // namespace synctrace
