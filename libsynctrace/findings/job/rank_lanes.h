// SPDX-License-Identifier: Apache-2.0
// What a timeline shows of a rank because it is one of a job: its clock, and its operations with the others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/rank_lane.h"
#include "ranks/blame.h"
#include "ranks/job.h"

namespace synctrace {

RankLane lane_of(const Job& job, std::uint32_t rank);

// At most so many ranks: those that the others waited for most, `usual`, then by number.
std::vector<std::uint32_t> ranks_to_draw(const Job& job, std::span<const RankCharge> charges, std::uint32_t usual,
                                         std::size_t most);

// What a rank is called: "3", or "process 4711"; and in a sentence: "rank 3".
std::string label_of(const RankSummary& rank);
std::string title_of(const RankSummary& rank);

}  // namespace synctrace
