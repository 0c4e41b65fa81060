// SPDX-License-Identifier: Apache-2.0
// What a timeline shows of each rank of a job.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "findings/timeline/rank_drawing.h"
#include "ranks/blame.h"
#include "ranks/job.h"

namespace synctrace {

page::RankDrawing draw_rank(const Job& job, std::uint32_t rank);

// At most so many ranks: those that the others waited for most, `usual`, then by number.
std::vector<std::uint32_t> ranks_to_draw(const Job& job, std::span<const RankCharge> charges, std::uint32_t usual,
                                         std::size_t most);

}  // namespace synctrace
