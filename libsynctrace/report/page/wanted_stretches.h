// SPDX-License-Identifier: Apache-2.0
// Which stretches of a long run are worth every slice: an ordinary step, the worst one, and the dearest moments of the first
// causes.
#pragma once

#include <vector>

#include "attribution/attribute.h"
#include "base/time_span.h"
#include "report/page/idle_occurrences.h"
#include "report/report.h"

namespace synctrace::page {

// The most wanted first; they may overlap.
std::vector<TimeSpan> wanted_stretches(const Attribution& attribution, const Report& report, const std::vector<DeviceOccurrences>& occurrences);

}  // namespace synctrace::page
