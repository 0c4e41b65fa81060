// SPDX-License-Identifier: Apache-2.0
// What a timeline shows of a rank because it is one of a job: its clock, and its operations with the others.
#pragma once

#include <cstdint>
#include <string>

#include "model/rank_lane.h"
#include "ranks/job.h"

namespace synctrace {

RankLane lane_of(const Job& job, std::uint32_t rank);

// What a rank is called: "3", or "process 4711"; and in a sentence: "rank 3".
std::string label_of(const RankSummary& rank);
std::string title_of(const RankSummary& rank);

}  // namespace synctrace
