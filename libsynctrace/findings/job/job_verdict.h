// SPDX-License-Identifier: Apache-2.0
// What binds a job: whom its ranks wait for, or else what binds each of them.
#pragma once

#include "findings/report/job_report.h"
#include "ranks/job.h"

namespace synctrace {

// A part of the job's time below which nothing is said to bind it: one in so many.
inline constexpr Nanoseconds kRankBoundShare = 33;

// Fills the shape, the late rank and the means. The ranks of the report have their times.
void find_late_rank(const Job& job, const std::vector<RankCharge>& charges, JobReport& report);

// Then the verdict, when the causes are there too.
void judge_job(JobReport& report);

}  // namespace synctrace
