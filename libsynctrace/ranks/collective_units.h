// SPDX-License-Identifier: Apache-2.0
// Joins the operations that a program asked NCCL for with the kernels that they became.
#pragma once

#include "ranks/rank_summary.h"

namespace synctrace {

// Fills communicators, operations, units and pairs, and counts what could not be joined. The devices are there.
void find_collective_units(const Trace& trace, const Attribution& attribution, RankSummary& rank);

}  // namespace synctrace
