// SPDX-License-Identifier: Apache-2.0
// What other parts of a report know of a change: how many workers a loader needs, and which lines of a stretch of host
// code samples found busiest.
#pragma once

#include <cstddef>

#include "findings/report/report.h"

namespace synctrace {

// Needs the causes, the loader's advice and the samples of the report.
// `processors`: how many the program may use; 0: not known.
void add_details(std::size_t processors, Report& report);

}  // namespace synctrace
