// SPDX-License-Identifier: Apache-2.0
// How long each rank waited inside each operation, and for whom. Ranks leave an operation together, so the rank that
// was in it for the shortest time came last: its time is the transfer, and what the others spent beyond it was waiting.
// All of these are lengths on a rank's own clock: no two clocks are compared (docs/ranks.md).
#pragma once

#include <vector>

#include "ranks/match.h"
#include "ranks/rank_clocks.h"

namespace synctrace {

struct MeetingSplit {
  Nanoseconds transfer_ns = 0;
  Nanoseconds usual_ns = 0;      // transfer of such operations: the tenth part of them took less
  Nanoseconds margin_ns = 0;     // how much later the last came than the one before it
  Nanoseconds waited_ns = 0;     // by all ranks together
  std::uint32_t last = kNoRank;  // kNoRank: not known
  bool is_split = false;
};

struct UnitSplit {
  Nanoseconds wait_ns = 0;
  std::uint32_t waits_for = kNoRank;
  bool is_split = false;  // else it is not known what of it is waiting
  // The rank that had sent its message before this one asked for it, and how long before. kNoRank: not, or not known.
  std::uint32_t sender = kNoRank;
  Nanoseconds sent_before_ns = 0;
};

struct JobSplit {
  std::vector<MeetingSplit> meetings;         // beside JobMatch::meetings
  std::vector<std::vector<UnitSplit>> units;  // by rank and unit
};

JobSplit split_waits(std::span<const RankSummary> ranks, const JobMatch& match, const RankClocks& clocks);

}  // namespace synctrace
