// SPDX-License-Identifier: Apache-2.0
// A rank's own time from unit to unit: which of them each goes on from (CollectiveUnit).
#pragma once

#include <vector>

#include "model/trace.h"
#include "ranks/rank_summary.h"

namespace synctrace {

// The units are in the order in which the rank was ready for them, which is where their own time ends. `streams`:
// beside them.
void chain_units(const Trace& trace, const std::vector<StreamKey>& streams, RankSummary& rank);

}  // namespace synctrace
