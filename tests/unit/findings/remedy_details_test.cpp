// SPDX-License-Identifier: Apache-2.0
// Host code between two calls is a range of lines with its busiest ones, and a loader's change says how many workers.
#include "findings/remedies/remedy_details.h"

#include "support/catch.h"

namespace synctrace::testing {
namespace {

SourceLine line(std::uint32_t number, const std::string& file = "/job/cluster.cu") {
  SourceLine where;
  where.file = file;
  where.line = number;
  where.function = "pgain";
  return where;
}

FixKey key_of(std::uint32_t place) { return {FixFamily::kHost, CauseKind::kHostCompute, StackPlace{place}, {}, 0}; }

Report with_host_code(std::uint32_t until) {
  Report report;
  Remedy& remedy = report.savings.remedies.emplace_back();
  remedy.fix = Fix::kSpeedUp;
  remedy.to_type = {"do less there"};
  ShownFix& fix = remedy.fixes.emplace_back();
  fix.where = line(284);
  fix.key = key_of(1);
  IdleCause& cause = report.devices.emplace_back().causes.emplace_back();
  cause.fix_key = key_of(1);
  cause.where = line(284);
  cause.until = line(until);
  cause.idle_ns = 1'000;
  return report;
}

void add_samples(Report& report, std::uint32_t number, std::uint64_t count, const std::string& state = "running") {
  SampledLine& sample = report.samples.emplace_back();
  sample.where = line(number);
  sample.state = state;
  sample.count = count;
}

}  // namespace

TEST_CASE("a stretch of host code ends at the next call, and its busiest lines are named") {
  Report report = with_host_code(358);
  add_samples(report, 301, 61);
  add_samples(report, 317, 29);
  add_samples(report, 284, 10);
  add_samples(report, 400, 500);             // behind it
  add_samples(report, 302, 500, "blocked");  // does nothing
  add_details(0, report);
  const Remedy& remedy = report.savings.remedies.front();
  CHECK(remedy.fixes.front().until_line == 358);
  REQUIRE(remedy.to_type.size() == 2);
  CHECK(remedy.to_type.front() == "busiest lines there: 301 (61 %), 317 (29 %), 284 (10 %)");
}

TEST_CASE("a call before it is no range, and few samples say nothing") {
  Report report = with_host_code(100);
  add_samples(report, 284, 9);
  add_details(0, report);
  const Remedy& remedy = report.savings.remedies.front();
  CHECK(remedy.fixes.front().until_line == 0);
  CHECK(remedy.to_type == std::vector<std::string>{"do less there"});
}

TEST_CASE("the change of a loader says how many workers") {
  Report report;
  Remedy& remedy = report.savings.remedies.emplace_back();
  remedy.fix = Fix::kFeedInput;
  remedy.title = "Have the next batch ready";
  remedy.fixes.emplace_back();
  report.loader.emplace();
  report.loader->title = "More DataLoader workers: 2 -> 5";
  report.loader->type = "num_workers=5, persistent_workers=True";
  add_details(0, report);
  CHECK(report.savings.remedies.front().title == "More DataLoader workers: 2 -> 5");
  CHECK(report.savings.remedies.front().to_type == std::vector<std::string>{"num_workers=5, persistent_workers=True"});
}

}  // namespace synctrace::testing
