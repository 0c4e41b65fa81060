// SPDX-License-Identifier: Apache-2.0
// What is said of a job whose traces have odd values, or none.
#include <algorithm>
#include <string>

#include "render/columns.h"
#include "render/first_screen.h"
#include "render/job_words.h"
#include "render/render_job.h"
#include "support/catch.h"

namespace synctrace::testing {
namespace {

JobReport even_job() {
  JobReport report;
  report.program = "python3 train.py";
  report.device = "NVIDIA H200";
  report.hosts = 1;
  report.verdict = "gpu-bound";
  for (const char* label : {"0", "1"}) {
    JobRank& rank = report.ranks.emplace_back();
    rank.label = label;
    rank.devices.emplace_back().in_steps.whole_ns = 1'000'000'000;
    rank.devices.back().all.whole_ns = 1'000'000'000;
  }
  report.usual = 0;
  report.base_ns = 1'000'000'000;
  report.mean_whole_ns = 1'000'000'000;
  report.operations = 1'000;
  return report;
}

std::size_t widest(std::string_view screen) {
  std::size_t most = 0;
  while (!screen.empty()) {
    const std::size_t end = screen.find('\n');
    most = std::max(most, columns_of(screen.substr(0, end)));
    screen.remove_prefix(end + 1);
  }
  return most;
}

}  // namespace

TEST_CASE("a job's screen fits the terminal, however long the names are") {
  JobReport report = even_job();
  report.device = std::string(500, 'd');
  report.program = std::string(500, 'p');
  for (const std::size_t columns : {std::size_t{1}, std::size_t{100}, std::size_t{5'000}}) {
    CAPTURE(columns);
    CHECK(widest(render_job(report, {columns})) <= std::clamp(columns, kFewestColumns, kMostColumns));
  }
}

TEST_CASE("a job's screen has at most thirty lines, and what to change goes last") {
  JobReport report = even_job();
  for (int i = 2; i < 64; ++i) report.ranks.push_back(report.ranks.front());
  for (int i = 0; i < 6; ++i) {
    JobCause& cause = report.causes.emplace_back();
    cause.name = "host-compute";
    cause.where.file = "train.py";
    cause.where.line = 10;
    cause.saving.ns = 100'000'000;
    cause.to_type = {"one", "two", "three"};
    JobPattern& pattern = report.patterns.emplace_back();
    pattern.rule = &kRankWaitRule;
    pattern.title = "Exchange this in fewer, larger pieces";
    pattern.time_ns = 100'000'000;
    pattern.to_type = {"one", "two"};
  }
  for (const std::size_t columns : {std::size_t{80}, std::size_t{160}}) {
    const std::string screen = render_job(report, {columns});
    INFO(screen);
    CHECK(std::count(screen.begin(), screen.end(), '\n') <= static_cast<std::ptrdiff_t>(kMostScreenLines));
    CHECK(screen.find("train.py:10") != std::string::npos);
    CHECK(screen.find("Left out: ") != std::string::npos);
  }
}

TEST_CASE("an even job has no limits to tell of") {
  JobReport report = even_job();
  CHECK(job_limits(report).empty());
  report.base_ns = 0;
  CHECK(job_limits(report).empty());
}

TEST_CASE("what is missing in the recordings is said, unless it is next to nothing") {
  JobReport report = even_job();
  report.unjoined = 9;
  report.ranks[1].lossy_ns = 9'000'000;
  CHECK(job_limits(report).empty());
  report.unjoined = 10;
  report.ranks[1].lossy_ns = 10'000'000;
  REQUIRE(job_limits(report).size() == 2);
  CHECK(job_limits(report)[0].starts_with("10 operations lack "));
  CHECK(job_limits(report)[1] == "Careful: records were lost on 1 of 2 ranks; see --rank.");
}

TEST_CASE("a job without a length promises nothing") {
  JobReport report = even_job();
  report.base_ns = 0;
  report.causes.emplace_back().name = "host-compute";
  CHECK(render_job(report, {100}).find("What to change") == std::string::npos);
}

}  // namespace synctrace::testing
