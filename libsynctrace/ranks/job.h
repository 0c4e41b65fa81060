// SPDX-License-Identifier: Apache-2.0
// The room's entry: what several ranks' summaries say together. Time O(n log n) and memory O(n) in the units of all
// ranks; no trace is needed any more.
#pragma once

#include <string>
#include <vector>

#include "ranks/device_time.h"
#include "ranks/job_replay.h"
#include "ranks/match.h"
#include "ranks/rank_clocks.h"
#include "ranks/rank_summary.h"
#include "ranks/split.h"

namespace synctrace {

class Job {
 public:
  explicit Job(std::vector<RankSummary> summaries);
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  const std::vector<RankSummary> ranks;
  const JobMatch match;
  const RankClocks clocks;
  const JobSplit split;
  const JobReplay replay;
  std::vector<std::vector<RankTime>> times;  // by rank, then by its devices
  std::vector<std::string> breaches;         // sums that do not hold: always empty but for bugs
};

}  // namespace synctrace
