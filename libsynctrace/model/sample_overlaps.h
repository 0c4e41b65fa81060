// SPDX-License-Identifier: Apache-2.0
// A thread does one thing at a time, so its samples do not overlap; in a damaged trace they may, and what reads them
// relies on their order.
#pragma once

#include <vector>

#include "model/trace.h"

namespace synctrace {

// Ends each sample where the next one of its thread begins, and returns the stretches that two of them claimed, one for
// each that was cut. The samples must be sorted by begin.
std::vector<TimeSpan> cut_overlapping_samples(std::vector<Sample>& samples);

}  // namespace synctrace
