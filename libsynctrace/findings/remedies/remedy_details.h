// SPDX-License-Identifier: Apache-2.0
// What other parts of a report know of a change: how many workers a loader needs, and which lines of a stretch of host
// code samples found busiest.
#pragma once

#include "findings/report/report.h"

namespace synctrace {

// Needs the causes, the loader's advice and the samples of the report.
void add_details(Report& report);

}  // namespace synctrace
