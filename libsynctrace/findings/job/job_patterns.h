// SPDX-License-Identifier: Apache-2.0
// Rows of ST061 to ST063: how the ranks of a job exchange data, and what another way would save.
#pragma once

#include <vector>

#include "findings/job/unit_lines.h"
#include "findings/report/job_report.h"
#include "ranks/job.h"

namespace synctrace {

// `rank` stands for all; `lines` are its.
std::vector<JobPattern> find_job_patterns(const Job& job, std::uint32_t rank, const UnitLines& lines);

}  // namespace synctrace
