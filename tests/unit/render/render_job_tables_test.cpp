// SPDX-License-Identifier: Apache-2.0
// A job as Markdown and as CSV: a row for each rank, for each rank that it waited for and for each cause.
#include "render/render_job_tables.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "support/catch.h"

namespace synctrace::testing::render_job_tables_test {
namespace {

std::vector<std::string> lines_of(const std::string& text, std::string_view end) {
  std::vector<std::string> lines;
  std::size_t begin = 0;
  for (std::size_t at = text.find(end); at != std::string::npos; at = text.find(end, begin)) {
    lines.push_back(text.substr(begin, at - begin));
    begin = at + end.size();
  }
  return lines;
}

std::vector<std::string> markdown(const JobReport& report) { return lines_of(render_job_markdown(report), "\n"); }

std::size_t count_with(const std::vector<std::string>& lines, std::string_view text) {
  return static_cast<std::size_t>(std::count_if(
      lines.begin(), lines.end(), [&](const std::string& line) { return line.find(text) != std::string::npos; }));
}

bool has_line(const std::vector<std::string>& lines, const std::string& line) {
  return std::find(lines.begin(), lines.end(), line) != lines.end();
}

JobReport job_of(std::size_t ranks) {
  JobReport report;
  report.program = "train.py";
  report.base_ns = 1'000'000;
  report.ranks.resize(ranks);
  for (std::size_t i = 0; i < ranks; ++i) report.ranks[i].label = std::to_string(i);
  return report;
}

JobCause& add_cause(JobReport& report, const std::string& file) {
  JobCause& cause = report.causes.emplace_back();
  cause.name = "host-compute";
  cause.title = "Do less";
  cause.where.file = file;
  cause.where.line = 7;
  return cause;
}

}  // namespace

TEST_CASE("Markdown has a row for each cause, up to twenty, and says how many more there are") {
  JobReport report = job_of(2);
  CHECK(count_with(markdown(report), "What makes ranks late") == 0);
  for (int i = 0; i < 20; ++i) add_cause(report, "file" + std::to_string(i) + "x.py");
  std::vector<std::string> lines = markdown(report);
  CHECK(count_with(lines, "What makes ranks late") == 1);
  for (int i = 0; i < 20; ++i) CHECK(count_with(lines, "file" + std::to_string(i) + "x.py") == 1);
  CHECK(count_with(lines, " more |") == 0);
  add_cause(report, "file20x.py");
  lines = markdown(report);
  CHECK(count_with(lines, "file20x.py") == 0);
  CHECK(has_line(lines, "| and 1 more | | | | | | | | |"));
}

TEST_CASE("a cause's row has its ranks and its shares of the job's time") {
  JobReport report = job_of(2);
  JobCause& cause = add_cause(report, "train.py");
  cause.ranks = {{1, 10}, {kNoRank, 20}, {0, 5}};
  cause.where.source = "go()";
  cause.count = 1'204;
  cause.waited_ns = 2'000'000;
  cause.saving.ns = 200'000;
  cause.saving.lo_ns = 100'000;
  cause.saving.hi_ns = 300'000;
  cause.cumulative_ns = 400'000;
  CHECK(has_line(markdown(report),
                 R"(| Do less \[ST060\], 3 ranks | `train.py:7` | `go()` | `1`  `0` | 1,204 | 2.0 ms | 20.0 % | )"
                 "10.0 % to 30.0 % | 40.0 % |"));
}

TEST_CASE("what to type is that of the first cause that has some") {
  JobReport report = job_of(2);
  add_cause(report, "a.py");
  add_cause(report, "b.py").to_type = {"first line", "second line"};
  add_cause(report, "c.py").to_type = {"third line"};
  const std::vector<std::string> lines = markdown(report);
  CHECK(has_line(lines, "`first line`"));
  CHECK(has_line(lines, "`second line`"));
  CHECK(count_with(lines, "third line") == 0);
}

TEST_CASE("a rank's row has the times of one of its steps, and one without a GPU says so") {
  JobReport report = job_of(2);
  JobRank& rank = report.ranks[0];
  rank.steps = 10;
  rank.step_ns = 5'000;
  rank.others_waited_ns = 40'000;
  DeviceTime& time = rank.devices.emplace_back().in_steps;
  time.whole_ns = 50'000;
  time.idle_ns = 25'000;
  time.transfer_ns = 10'000;
  time.unsplit_ns = 20'000;
  time.waiting_ns = 70'000;
  std::vector<std::string> lines = markdown(report);
  CHECK(has_line(lines, "| `0` | 5.0 us | 50.0 % | 3.0 us | 7.0 us | 4.0 us |"));
  CHECK(has_line(lines, "| `1` | no GPU timeline | | | | |"));
  rank.steps = 0;
  lines = markdown(report);
  CHECK(has_line(lines, "| `0` |  | 50.0 % | 30.0 us | 70.0 us | 40.0 us |"));
}

TEST_CASE("Markdown has 64 ranks at most, and says how many more there are") {
  CHECK(count_with(markdown(job_of(64)), "no GPU timeline") == 64);
  CHECK(count_with(markdown(job_of(64)), " more |") == 0);
  const std::vector<std::string> lines = markdown(job_of(66));
  CHECK(count_with(lines, "no GPU timeline") == 64);
  CHECK(has_line(lines, "| | and 2 more | | | | |"));
}

TEST_CASE("Markdown says when nothing was measured, and on how many GPUs") {
  JobReport report = job_of(2);
  CHECK(count_with(markdown(report), "Simulated") == 0);
  CHECK(has_line(markdown(report), "* 2 ranks, 2 x GPU, one host"));
  report.simulated = true;
  report.device = "H200";
  report.hosts = 2;
  CHECK(count_with(markdown(report), "Simulated") == 1);
  CHECK(has_line(markdown(report), "* 2 ranks, 2 x `H200`, 2 hosts"));
}

TEST_CASE("CSV has a row for each GPU of a rank and each rank it waited for, and a rank's own figures once") {
  JobReport report = job_of(2);
  JobRank& rank = report.ranks[0];
  rank.path = "a.synctrace";
  rank.steps = 9;
  rank.late_count = 8;
  rank.others_waited_ns = 7;
  for (std::uint32_t id = 0; id < 2; ++id) {
    JobDevice& device = rank.devices.emplace_back();
    device.id = id;
    device.in_steps.whole_ns = 10;
    device.in_steps.compute_ns = 11;
    device.in_steps.transfer_ns = 12;
    device.in_steps.waiting_ns = 13;
    device.in_steps.unsplit_ns = 14;
    device.in_steps.copying_ns = 15;
    device.in_steps.idle_ns = 16;
  }
  rank.devices[0].in_steps.waiting_for = {{1, 5}, {kNoRank, 6}};
  const std::vector<std::string> lines = lines_of(render_job_csv(report), "\r\n");
  REQUIRE(lines.size() == 5);
  CHECK(lines[1] == "rank,0,a.synctrace,0,9,10,11,12,13,14,15,16,,,,,,,,,8,,7,,,,,");
  CHECK(lines[2] == "waiting,0,a.synctrace,0,9,,,,5,,,,1,,,,,,,,,,,,,,,");
  CHECK(lines[3] == "waiting,0,a.synctrace,0,9,,,,6,,,,,,,,,,,,,,,,,,,");
  CHECK(lines[4] == "rank,0,a.synctrace,1,9,10,11,12,13,14,15,16,,,,,,,,,,,,,,,,");
}

TEST_CASE("CSV has a row for each rank that a cause made late, and the cause's figures in the first") {
  JobReport report = job_of(2);
  JobCause& cause = add_cause(report, "train.py");
  cause.rule = &kRankWaitRule;
  cause.kernel = "gemm";
  cause.where.function = "main";
  cause.where.source = "go()";
  cause.count = 3;
  cause.excess_ns = 4;
  cause.waited_ns = 5;
  cause.saving.ns = 6;
  cause.saving.lo_ns = 7;
  cause.saving.hi_ns = 8;
  cause.cumulative_ns = 9;
  std::vector<std::string> lines = lines_of(render_job_csv(report), "\r\n");
  REQUIRE(lines.size() == 2);
  CHECK(lines[1] == "cause,,,,,,,,,,,,,ST060,host-compute,gemm,train.py,7,main,go(),3,4,5,6,7,8,9,Do less");
  cause.ranks = {{1, 10}, {0, 20}};
  lines = lines_of(render_job_csv(report), "\r\n");
  REQUIRE(lines.size() == 3);
  CHECK(lines[1] == "cause,1,,,,,,,,,,,,ST060,host-compute,gemm,train.py,7,main,go(),3,4,10,6,7,8,9,Do less");
  CHECK(lines[2] == "cause-also,0,,,,,,,,,,,,ST060,host-compute,gemm,train.py,7,main,go(),,,20,,,,,");
}

}  // namespace synctrace::testing::render_job_tables_test
