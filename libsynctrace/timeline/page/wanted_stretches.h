// SPDX-License-Identifier: Apache-2.0
// Which stretches of a long run are worth every slice: ordinary steps, the worst one, and the dearest moments of the
// first causes.
#pragma once

#include <vector>

#include "base/time_span.h"
#include "findings/report/report.h"
#include "timeline/page/idle_occurrences.h"

namespace synctrace::page {

// The three ordinary steps in a row whose lengths are nearest to the median; two, or one, where there are no three.
// Empty: there are no ordinary steps.
TimeSpan typical_steps(const Attribution& attribution, const Report& report);

// The most wanted first; they may overlap.
std::vector<TimeSpan> wanted_stretches(const Attribution& attribution, const Report& report,
                                       const std::vector<DeviceOccurrences>& occurrences);

}  // namespace synctrace::page
