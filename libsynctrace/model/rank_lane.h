// SPDX-License-Identifier: Apache-2.0
// One rank of a job as a timeline of all ranks shows it: a plain table between those who know who waited for whom
// (findings) and the formats of timelines, which do not. Times are on the rank's own clock.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "model/rank_clock.h"

namespace synctrace {

// An operation with other ranks. A meeting is the same operation on several ranks; its arrows follow the order in which
// the ranks came to it.
struct RankExchange {
  enum class Arrow : std::uint8_t { kNone, kFirst, kBetween, kLast };

  TimeSpan span;                   // when its kernels ran
  Nanoseconds wait_ns = 0;         // how long it waited, from the begin on; then it moved data
  std::uint64_t communicator = 0;  // its number, the same on all ranks, like the turn
  std::uint64_t turn = 0;          // 0: a send or receive
  std::uint64_t bytes = 0;
  std::uint32_t meeting = 0;  // number among those of the job, where there is an arrow
  DeviceId device{};
  std::uint32_t operation = 0;  // row of RankLane::operations
  std::uint32_t waits_for = 0;  // key of RankLane::labels, if it is there: else not known
  Arrow arrow = Arrow::kNone;
  bool is_split = false;  // else it is not known what of it is waiting
};

struct RankLane {
  std::string label;                            // "3", or "process 4711" where no launcher numbers it
  std::string host;                             // may be empty
  RankClock clock;                              // where it is not known, the rank's own is all there is
  Nanoseconds lead_ns = 0;                      // how far the wall clock is ahead of that clock
  std::vector<RankExchange> exchanges;          // by begin
  std::vector<std::string> operations;          // "AllReduce"
  std::map<std::uint32_t, std::string> labels;  // names of ranks that this one waits for
  // An operation at which the others waited for this rank: from when the rank was free for it to its end; may be empty.
  TimeSpan typical;
};

// "rank 3", or "process 4711".
inline std::string rank_title(std::string_view label) {
  return (label.starts_with("process") ? "" : "rank ") + std::string(label);
}

}  // namespace synctrace
