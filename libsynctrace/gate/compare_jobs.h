// SPDX-License-Identifier: Apache-2.0
// Two jobs of several ranks side by side: the job's step, what binds it, and what each rank waited for the others.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "findings/report/job_report.h"

namespace synctrace {

// A rank's times in a step; without steps, in all.
struct RankTimes {
  Nanoseconds step_ns = 0;
  Nanoseconds waiting_ns = 0;        // in collectives, for other ranks
  Nanoseconds others_waited_ns = 0;  // for this one
};

struct ComparedRank {
  std::string label;
  std::optional<RankTimes> before;
  std::optional<RankTimes> after;
};

struct ComparedJobs {
  std::size_t ranks[2] = {0, 0};  // before and after; 0: that side is no job
  std::string headlines[2];       // what binds it
  Nanoseconds step_ns[2] = {0, 0};
  bool by_steps = false;
  std::vector<ComparedRank> changed;  // ranks on one side only, or whose waiting differs; most first

  bool is_same() const noexcept;  // but for times that differ as they do from run to run
};

// Nothing: neither side is a job.
std::optional<ComparedJobs> compare_jobs(const std::optional<JobReport>& before, const std::optional<JobReport>& after);

// Lines of text; of a job, or of two jobs.
std::string compared_jobs_text(const ComparedJobs& jobs);

}  // namespace synctrace
