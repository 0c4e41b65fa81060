// SPDX-License-Identifier: Apache-2.0
// JSON of a job of several ranks: every shape, every cause of idle time, and what is not known as null.
#include <string>
#include <vector>

#include "render/json_parts.h"
#include "render/words.h"
#include "support/catch.h"

namespace synctrace::testing::render_json_job_test {
namespace {

JobReport job_of_two() {
  JobReport report;
  report.ranks.resize(2);
  report.ranks[0].label = "4";
  report.ranks[1].label = "5";
  return report;
}

}  // namespace

TEST_CASE("a rank's idle time is there by every cause that has some") {
  JobReport report = job_of_two();
  JobDevice& device = report.ranks[0].devices.emplace_back();
  std::string expected;
  for (std::size_t kind = 0; kind < kCauseKinds; ++kind) {
    if (kind == 1) continue;
    const auto ns = static_cast<Nanoseconds>(kind) + 1;
    device.in_steps.idle_by_cause[kind] = ns;
    expected += (expected.empty() ? "{\"" : ",\"") + std::string(cause_name(static_cast<CauseKind>(kind))) +
                "\":" + std::to_string(ns);
  }
  Json ranks = json::job_ranks_json(report);
  Json& of_device = ranks[0]["devices"][0];
  CHECK(of_device["in_steps"]["idle_by_cause"].dump() == expected + "}");
  CHECK(of_device["recorded"]["idle_by_cause"].dump() == "{}");
}

TEST_CASE("a rank says for whom it waited, by label, or null where that is not known") {
  JobReport report = job_of_two();
  report.ranks[0].devices.emplace_back().all.waiting_for = {{1, 30}, {2, 20}, {kNoRank, 10}};
  CHECK(json::job_ranks_json(report)[0]["devices"][0]["recorded"]["waiting_for"].dump() ==
        R"([{"rank":"5","waiting_ns":30},{"rank":null,"waiting_ns":20},{"rank":null,"waiting_ns":10}])");
}

TEST_CASE("each shape of a job has a name") {
  const std::vector<std::string> names = {"even", "one-rank", "in-turn", "one-gpu", "missing-rank", "not-known"};
  for (std::size_t i = 0; i < names.size(); ++i) {
    JobReport report;
    report.shape = static_cast<JobShape>(i);
    CHECK(json::job_json(report)["shape"].dump() == '"' + names[i] + '"');
  }
}

TEST_CASE("the late and the usual rank go by their labels, and a rank of no row is null") {
  JobReport report = job_of_two();
  report.late = 1;
  Json job = json::job_json(report);
  CHECK(job["late_rank"].dump() == "\"5\"");
  CHECK(job["usual_rank"].dump() == "null");
  report.late = 2;
  CHECK(json::job_json(report)["late_rank"].dump() == "null");
}

TEST_CASE("a pattern has a saving only where one was predicted") {
  JobReport report = job_of_two();
  report.patterns.resize(2);
  report.patterns[0].saving = Interval{};
  report.patterns[0].saving->ns = 40;
  report.patterns[1].not_predicted = "too few";
  Json patterns = json::job_json(report)["patterns"];
  CHECK(patterns[0]["saving"]["ns"].dump() == "40");
  CHECK(patterns[0]["not_predicted"].dump() == "null");
  CHECK(patterns[1]["saving"].dump() == "null");
  CHECK(patterns[1]["not_predicted"].dump() == "\"too few\"");
}

}  // namespace synctrace::testing::render_json_job_test
