// SPDX-License-Identifier: Apache-2.0
#include "findings/job/host_limits.h"

#include <cmath>
#include <utility>
#include <vector>

#include "support/catch.h"

namespace synctrace::testing::host_limits_test {
namespace {

std::vector<RankSummary> ranks_of(const std::vector<Nanoseconds>& busy_percent) {
  std::vector<RankSummary> ranks;
  for (const Nanoseconds percent : busy_percent) {
    RankSummary& rank = ranks.emplace_back();
    rank.in_steps_ns = 2'000;
    rank.host_busy_ns = 20 * percent;
  }
  return ranks;
}

JobReport report_of(std::vector<std::vector<std::uint32_t>> causes, Nanoseconds saving_ns) {
  JobReport report;
  report.by_steps = true;
  report.base_ns = report.alike_ns = 1'000;
  report.late = 2;
  for (const std::vector<std::uint32_t>& ranks : causes) {
    JobCause& cause = report.causes.emplace_back();
    for (const std::uint32_t rank : ranks) cause.ranks.push_back({rank, 1});
    cause.saving = {saving_ns, saving_ns - 50, saving_ns + 50, Grade::kMedium};
    cause.cumulative_ns = saving_ns;
  }
  return report;
}

TEST_CASE("a saving is at most what the busiest host of the other ranks leaves of a step, the largest first") {
  const Job job(ranks_of({70, 80, 100}));
  JobReport report = report_of({{2}, {0}, {1, 2}}, 400);
  limit_by_hosts(job, report);
  CHECK(report.causes[0].ranks.size() == 2);
  CHECK(report.causes[0].saving.ns == 300);
  CHECK(report.causes[0].saving.lo_ns == 150);
  CHECK(report.causes[0].saving.hi_ns == 450);
  CHECK(report.causes[1].ranks[0].rank == 2);
  CHECK(report.causes[1].saving.ns == 200);
  CHECK(report.causes[2].saving.ns == 0);
  CHECK(report.causes[0].cumulative_ns == 300);
  CHECK(report.causes[1].cumulative_ns == 300);
  CHECK(report.causes[2].cumulative_ns == 300);
  CHECK_FALSE(report.causes[0].adds_nothing);
  CHECK(report.causes[1].adds_nothing);
  CHECK(report.alike_ns == 200);
  CHECK(report.busy_hosts_ns == 700);
}

TEST_CASE("changes of several ranks add up, as far as hosts leave time") {
  const Job job(ranks_of({90, 95, 100, 50}));
  JobReport report = report_of({{2}, {1}, {0}}, 40);
  report.causes[0].saving.ns = 60;
  limit_by_hosts(job, report);
  CHECK(report.causes[0].saving.ns == 50);
  CHECK(report.causes[1].saving.ns == 0);  // rank 2 is busy all the time
  CHECK(report.causes[0].cumulative_ns == 50);
  CHECK(report.causes[2].cumulative_ns == 50);
  CHECK(report.busy_hosts_ns == 950);
}

TEST_CASE("where ranks are late in turn, each host has less to do by what took longer there") {
  const Job job(ranks_of({90, 95, 100}));
  JobReport report = report_of({{0, 1, 2}}, 400);
  report.causes[0].waited_ns = 3;
  for (RankShare& share : report.causes[0].ranks) share.excess_ns = 100;  // a twentieth of the steps
  limit_by_hosts(job, report);
  CHECK(report.causes[0].saving.ns == 50);
  report.causes[0].saving.ns = 400;
  report.causes[0].kernel = "gemm";  // the GPU has less to do, the host has not
  limit_by_hosts(job, report);
  CHECK(report.causes[0].saving.ns == 0);
  report.causes[0].saving.ns = 400;
  report.causes[0].waited_ns = 2;  // now each has half of the waiting
  limit_by_hosts(job, report);
  CHECK(report.causes[0].saving.ns == 400);
}

TEST_CASE("a saving is at most all of the steps") {
  const Job job(ranks_of({10, 10, 100}));
  JobReport report = report_of({{2}}, 950);
  report.causes[0].saving.hi_ns = 1'400;
  limit_by_hosts(job, report);
  CHECK(report.causes[0].saving.ns == 900);
  CHECK(report.causes[0].saving.hi_ns == 1'000);
}

TEST_CASE("where all hosts bind the job only remedies and kernels are left") {
  const Job job(ranks_of({90, 95, 100}));
  JobReport report = report_of({{2}, {2}, {1}}, 40);
  report.causes[1].title = "Read once";
  report.causes[2].kernel = "gemm";
  keep_remedies(job, report);
  CHECK(report.causes[0].title == "Read once");
  CHECK(report.causes[0].saving.ns == 40);
  CHECK(report.causes[1].kernel == "gemm");
  CHECK(report.causes[2].saving.ns == 0);
  CHECK(report.causes[2].adds_nothing);
}

TEST_CASE("hosts that wait most of the time limit nothing, nor do those of which nothing is known") {
  for (const std::vector<Nanoseconds>& percent : {std::vector<Nanoseconds>{30, 40, 100}, {0, 0, 0}}) {
    const Job job(ranks_of(percent));
    JobReport report = report_of({{2}}, 400);
    limit_by_hosts(job, report);
    CHECK(report.causes[0].saving.ns == 400);
    CHECK(report.causes[0].saving.lo_ns == 350);
    CHECK(report.busy_hosts_ns == 0);
  }
}

TEST_CASE("sets of causes are limited by the ranks that none of them changes") {
  const Job job(ranks_of({70, 80, 100}));
  JobReport report = report_of({{1}, {2}}, 250);
  report.sets = {{1, {350, 300, 400, Grade::kMedium}}, {3, {350, 300, 400, Grade::kMedium}}};
  limit_by_hosts(job, report);
  CHECK(report.causes[0].ranks[0].rank == 2);  // the set of the first cause is now that of the second
  CHECK(report.sets[0].causes == 2);
  CHECK(report.sets[0].saving.ns == 0);
  CHECK(report.sets[1].causes == 3);
  CHECK(report.sets[1].saving.ns == 300);
}

}  // namespace
}  // namespace synctrace::testing::host_limits_test
