// SPDX-License-Identifier: Apache-2.0
// What hosts have to do with a job's late rank: its own may be slow, and the others' bound what it can save.
#pragma once

#include "findings/report/job_report.h"
#include "ranks/job.h"

namespace synctrace {

// JobReport::slow_host of this rank.
double slow_host_of(const Job& job, std::uint32_t late);

// Ranks whose hosts are busy for most of a step have little time to wait less in: no saving is more than what is left
// of a step beside the host that is the busiest with the change. Limits the causes' savings, those of sets and
// alike_ns.
void limit_by_hosts(const Job& job, JobReport& report);

// Where the hosts of all ranks bind the job, a line for which there is no remedy is only where a busy host happens to
// be: it saves nothing.
void keep_remedies(const Job& job, JobReport& report);

}  // namespace synctrace
