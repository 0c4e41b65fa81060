// SPDX-License-Identifier: Apache-2.0
// What is said of recordings that a job lacks, in part or whole, and of what its ranks wait for.
#include "render/job_words.h"

#include "support/catch.h"

namespace synctrace::testing::job_words_test {
namespace {

JobReport report_of(std::size_t ranks) {
  JobReport report;
  for (std::size_t rank = 0; rank < ranks; ++rank) report.ranks.emplace_back().label = std::to_string(rank);
  report.recorded_ranks = report.expected_ranks = ranks;
  return report;
}

using Limits = std::vector<std::string>;

}  // namespace

TEST_CASE("a whole job has no limits") { CHECK(job_limits(report_of(4)).empty()); }

TEST_CASE("ranks without a recording are named where their numbers are known") {
  JobReport report = report_of(3);
  report.expected_ranks = 5;
  CHECK(job_limits(report) == Limits{"3 of 5 ranks were recorded; a missing one may have been the late one."});
  report.missing = {1, 4};
  CHECK(job_limits(report) ==
        Limits{"3 of 5 ranks were recorded, not ranks 1, 4; a missing one may have been the late one."});
}

TEST_CASE("ranks that did not end in order are named, a few of many") {
  JobReport report = report_of(64);
  report.ranks[7].cut_short = true;
  const std::string rest = " did not end in order; the last of it is missing, the GPU's part first.";
  CHECK(job_limits(report) == Limits{"Careful: recordings end early, as rank 7" + rest});
  for (std::size_t rank = 0; rank < 63; ++rank) report.ranks[rank].cut_short = true;
  CHECK(job_limits(report) == Limits{"Careful: recordings end early, as ranks 0, 1, 2, 3 and 59 more" + rest});
  report.ranks[63].cut_short = true;
  CHECK(job_limits(report) == Limits{"Careful: recordings end early, as all ranks" + rest});
}

TEST_CASE("a rank that shares its GPU with another process is named, the one with the largest share") {
  JobReport report = report_of(3);
  for (JobRank& rank : report.ranks) rank.devices.emplace_back().use = {1'000, 0, 49, 0, 0, 1};
  CHECK(job_limits(report).empty());
  report.ranks[1].devices.front().use.others_ns = 620;
  CHECK(job_limits(report) ==
        Limits{"Careful: another process used the GPU of rank 1 for 62.0 % of the time [ST057]."});
  report.ranks[2].devices.front().use.others_ns = 630;
  CHECK(job_limits(report) ==
        Limits{"Careful: another process used the GPU of rank 2 (and of 1 more) for 63.0 % of the time [ST057]."});
}

TEST_CASE("processes with several GPUs and different versions of NCCL are said") {
  JobReport report = report_of(2);
  report.ranks[0].nccl = report.ranks[1].nccl = "2.28.9";
  CHECK(job_limits(report).empty());
  report.ranks[1].nccl = "2.27.5";
  report.ranks[1].gpus_as_one = 2;
  CHECK(
      job_limits(report) ==
      Limits{"Careful: ranks run different versions of NCCL, from 2.27.5 to 2.28.9.",
             "Careful: the 2 GPUs of rank 1's process are taken as one rank; one process for each GPU is told apart."});
}

TEST_CASE("a kernel that takes longer is one rank's work, or varies") {
  const JobReport report = report_of(4);
  JobCause cause;
  cause.name = "slow-kernel";
  cause.ranks = {{.rank = 2}};
  CHECK(job_cause_title(report, cause) ==
        "Make this kernel's work as large as on the other ranks [ST060], rank 2 only");
  cause.ranks.push_back({.rank = 3});
  CHECK(job_cause_title(report, cause) == "Make this kernel's work as large as on the other ranks [ST060], 2 ranks");
}

TEST_CASE("what varies is no change, and is counted apart") {
  JobReport report = report_of(4);
  report.base_ns = 1'000;
  for (const auto& [name, saving_ns] :
       {std::pair("slow-kernel", 30), {"host-compute", 10}, {"host-compute", 9}, {"host-compute", 5}}) {
    JobCause& cause = report.causes.emplace_back();
    cause.name = name;
    cause.saving.ns = saving_ns;
  }
  CHECK(shown_causes(report, 4).rows == std::vector<std::size_t>{0, 1});
  CHECK(shown_causes(report, 4).left_out == "Left out: 2 more, together 1.4 % or less.");
  report.causes[0].name = "varying-kernel";
  CHECK(shown_causes(report, 4).rows == std::vector<std::size_t>{1});
  CHECK(shown_causes(report, 4).left_out ==
        "Left out: 2 more, together 1.4 % or less. One kernel takes longer now on one rank, now on another: no line is "
        "at "
        "fault.");
}

}  // namespace synctrace::testing::job_words_test
