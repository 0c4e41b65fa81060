// SPDX-License-Identifier: Apache-2.0
// What binds a job that no rank holds up, by the usual rank's time.
#include "findings/job/job_verdict.h"

#include <string>

#include "support/catch.h"

namespace synctrace {

TEST_CASE("ranks that lack work for less than a tenth of the time are bound by their GPUs, as one alone is") {
  const auto verdict = [](Nanoseconds idle_ns) {
    JobReport report;
    report.mean_whole_ns = 1'000;
    report.usual = 0;
    report.usual_verdict.word = "sync-bound";
    report.ranks.emplace_back().devices.emplace_back().in_steps.idle_ns = idle_ns;
    judge_job(report);
    return report.verdict;
  };
  CHECK(verdict(99) == "gpu-bound");
  CHECK(verdict(100) == "sync-bound");
}

TEST_CASE("ranks whose kernels vary are even; a line on one rank names it") {
  JobReport report;
  report.mean_whole_ns = 1'000;
  report.ranks.resize(2);
  report.usual = 1;
  report.ranks[1].devices.emplace_back().in_steps.idle_ns = 10;
  report.shape = JobShape::kInTurn;
  report.late = 0;
  report.waited_ns = 300;
  report.alike_ns = 100;
  JobCause& kernel = report.causes.emplace_back();
  kernel.name = "varying-kernel";
  kernel.saving.ns = 90;
  kernel.ranks = {{0, 120}, {1, 80}};
  JobCause& line = report.causes.emplace_back();
  line.name = "scalar-read";
  line.saving.ns = 20;
  line.ranks = {{1, 100}};
  const auto judged = [&] {
    JobReport copy = report;
    judge_job(copy);
    return copy;
  };
  CHECK(judged().verdict == "gpu-bound");
  CHECK(judged().shape == JobShape::kEven);

  report.causes[1].saving.ns = 40;
  CHECK(judged().verdict == "rank-bound");
  CHECK(judged().shape == JobShape::kOneRank);
  CHECK(judged().late == 1);

  report.causes[0].name = "slow-kernel";
  CHECK(judged().shape == JobShape::kInTurn);
  CHECK(judged().late == 1);

  report.causes[0].name = "varying-kernel";
  report.causes[1].saving.ns = 20;
  report.slow_gpu = 1.2;
  CHECK(judged().verdict == "rank-bound");
  report.slow_gpu = 0;
  report.not_looked_at_ns = 200;
  CHECK(judged().verdict == "rank-bound");
}

TEST_CASE("where the hosts of all ranks are busy, and another late rank leaves little, the hosts bind the job") {
  JobReport report;
  report.mean_whole_ns = 1'000;
  report.mean_waiting_ns = 400;
  report.left_by_hosts_ns = 100;
  report.alike_ns = 600;
  report.late = 1;
  report.shape = JobShape::kOneRank;
  report.usual = 0;
  report.ranks.resize(2);
  for (JobRank& rank : report.ranks) {
    rank.step_ns = 100;
    rank.host_busy_ns = 70;
    rank.devices.emplace_back();
  }
  const auto judged = [&] {
    JobReport copy = report;
    judge_job(copy);
    CHECK(copy.hosts_bind == (copy.verdict == "host-bound"));
    return copy;
  };
  CHECK(judged().verdict == "host-bound");
  CHECK(judged().shape == JobShape::kEven);

  report.left_by_hosts_ns = 200;  // half of the waiting
  CHECK(judged().verdict == "rank-bound");
  CHECK(judged().shape == JobShape::kOneRank);
  report.left_by_hosts_ns = 100;
  report.ranks[0].host_busy_ns = 66;
  CHECK(judged().verdict == "rank-bound");
  report.ranks[0].host_busy_ns = 0;  // not known
  CHECK(judged().verdict == "rank-bound");
  report.ranks[0].host_busy_ns = 70;
  report.mean_waiting_ns = 99;
  CHECK(judged().verdict == "rank-bound");
}

}  // namespace synctrace
