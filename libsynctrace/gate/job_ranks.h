// SPDX-License-Identifier: Apache-2.0
// Which of a gate's traces are the ranks of one job: what is the same on several of them is said once, and a rank that
// left no trace was not judged. Traces are of one job when they share a communicator, or the launcher's name of it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gate/observe.h"

namespace synctrace {

inline constexpr std::int64_t kNoJobRank = -1;

struct GateJob {
  std::vector<std::int64_t> labels;  // beside the observations: the rank, or kNoJobRank
  std::vector<std::int64_t> ranks;   // sorted
  std::uint64_t expected = 0;        // of the largest communicator; not less than `ranks`

  std::uint64_t missing() const noexcept { return expected - ranks.size(); }
};

// Nothing: fewer than two ranks, or two traces of the same one, which are two runs.
std::optional<GateJob> find_job(std::span<const Observation> observations);

// "rank 1", "ranks 0-7", "ranks 0-2, 5"; of sorted numbers.
std::string ranks_text(std::span<const std::int64_t> ranks);

// "rank 3", or "5 ranks" where it is not known which.
std::string missing_text(const GateJob& job);

}  // namespace synctrace
