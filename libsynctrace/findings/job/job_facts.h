// SPDX-License-Identifier: Apache-2.0
// What only all ranks together tell about one of them, added to that rank's own report: how long it waited, for whom,
// and with that what binds it.
#pragma once

#include <cstddef>

#include "findings/report/job_report.h"

namespace synctrace {

// `rank`: its row.
void add_job_facts(const JobReport& job, std::size_t rank, Report& report);

}  // namespace synctrace
