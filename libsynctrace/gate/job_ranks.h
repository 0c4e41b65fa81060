// SPDX-License-Identifier: Apache-2.0
// Which of a gate's traces are the ranks of one job: what is the same on several of them is said once, and a rank that
// left no trace was not judged. Traces are of one job when they share a communicator, or the launcher's name of it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "findings/job/missing_ranks.h"
#include "gate/observe.h"

namespace synctrace {

inline constexpr std::int64_t kNoJobRank = -1;

struct GateJob {
  std::vector<std::int64_t> labels;  // beside the observations: the rank, or kNoJobRank
  std::vector<std::int64_t> ranks;   // sorted
  std::uint64_t expected = 0;        // size of the largest communicator; at least that of `ranks`

  std::uint64_t missing() const noexcept { return expected - ranks.size(); }
};

// Nothing: fewer than two ranks, or two traces of the same one, which are two runs.
std::optional<GateJob> find_job(std::span<const Observation> observations);

}  // namespace synctrace
