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

}  // namespace synctrace
