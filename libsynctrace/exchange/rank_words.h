// SPDX-License-Identifier: Apache-2.0
// What timelines call a rank of a job and its waiting.
#pragma once

#include <cstdint>
#include <string>

#include "model/rank_lane.h"

namespace synctrace {

std::string rank_name(const RankLane& rank);                           // "rank 3 · node0"
std::string clock_words(const RankLane& rank);                         // how well its clock is aligned; may be empty
std::string wait_name(const RankLane& rank, std::uint32_t waits_for);  // "waiting for rank 1"

// The number of the arrow through a meeting. No arrow from a call to its work has it.
std::uint64_t arrow_id(const RankExchange& exchange) noexcept;

}  // namespace synctrace
