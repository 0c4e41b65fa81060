// SPDX-License-Identifier: Apache-2.0
// What is added to a rank's own report, by hand-made jobs: whom it waits for, and the parts of its time in collectives.
#include "findings/job/job_facts.h"

#include <string>
#include <utility>
#include <vector>

#include "base/format_text.h"
#include "base/quantity_text.h"
#include "support/catch.h"

namespace synctrace::testing::job_facts_test {
namespace {

using Parts = std::vector<std::pair<std::string, Nanoseconds>>;

JobReport job_of(std::size_t ranks) {
  JobReport job;
  job.ranks.resize(ranks);
  for (std::size_t i = 0; i < ranks; ++i) {
    job.ranks[i].label = std::to_string(i + 10);
    job.ranks[i].devices.emplace_back().id = 3;
  }
  return job;
}

DeviceTime& in_steps(JobReport& job) { return job.ranks[0].devices[0].in_steps; }

// A GPU with 300 ns of 1000 in collectives, and 50 ns without work.
Report communicating() {
  Report report;
  report.verdict.word = "communication-bound";
  report.verdict.evidence = "its own";
  report.verdict.device = 3;
  report.verdict.collective_ns = 300;
  report.verdict.lacked_ns = 50;
  report.verdict.of_ns = 1'000;
  report.verdict.parts = {{"busy", 650}, {"collectives", 300}, {"launching", 50}};
  return report;
}

Parts parts_of(const Report& report) {
  Parts parts;
  for (const TimePart& part : report.verdict.parts) parts.emplace_back(part.name, part.ns);
  return parts;
}

Report with_facts(const JobReport& job, Report report, std::size_t rank = 0) {
  add_job_facts(job, rank, report);
  return report;
}

}  // namespace

TEST_CASE("a rank names those that it waited for, the longest first, and only as far as they are in the job") {
  JobReport job = job_of(4);
  job.ranks.pop_back();
  in_steps(job).waiting_for = {{0, 0}, {1, 50}, {2, 70}, {3, 50}, {kNoRank, 30}};
  job.ranks[0].steps = 9;
  job.ranks[0].others_waited_ns = 8;
  job.ranks[0].late_count = 7;
  const Report report = with_facts(job, {});
  REQUIRE(report.in_job);
  CHECK(report.in_job->ranks == 3);
  CHECK(report.in_job->steps == 9);
  CHECK(report.in_job->others_waited_ns == 8);
  CHECK(report.in_job->late_count == 7);
  CHECK(report.in_job->device == 3);
  std::vector<std::pair<std::string, Nanoseconds>> waits;
  for (const WaitedRank& one : report.in_job->waits_for) waits.emplace_back(one.rank, one.waiting_ns);
  CHECK(waits == std::vector<std::pair<std::string, Nanoseconds>>{{"12", 70}, {"11", 50}, {"", 50}, {"", 30}});
}

TEST_CASE("a rank without a GPU has facts of its own alone") {
  JobReport job = job_of(2);
  job.ranks[0].devices.clear();
  job.ranks[0].late_count = 7;
  const Report report = with_facts(job, {});
  REQUIRE(report.in_job);
  CHECK(report.in_job->late_count == 7);
  CHECK(report.in_job->waits_for.empty());
}

TEST_CASE("time in collectives is told apart: waiting for other ranks, and moving data") {
  JobReport job = job_of(2);
  in_steps(job).waiting_ns = 200;
  Report report = with_facts(job, communicating());
  CHECK(parts_of(report) == Parts{{"busy", 650}, {"other ranks", 200}, {"moving data", 100}, {"launching", 50}});
  CHECK(report.verdict.evidence ==
        format_text("the GPU waited for other ranks for {} of the time, moved data for {}, and lacked work for {}",
                    share_text(200, 1'000), share_text(100, 1'000), share_text(50, 1'000)));

  in_steps(job).unsplit_ns = 10;
  in_steps(job).waiting_ns = 30;
  report = with_facts(job, communicating());
  CHECK(parts_of(report) == Parts{{"busy", 650}, {"collectives", 270}, {"launching", 50}, {"other ranks", 30}});

  in_steps(job).waiting_ns = 400;  // more than the verdict knows of
  report = with_facts(job, communicating());
  CHECK(parts_of(report) == Parts{{"busy", 650}, {"other ranks", 300}, {"launching", 50}});

  report = communicating();
  report.verdict.parts[0].ns = 0;
  report = with_facts(job, std::move(report));
  CHECK(parts_of(report) == Parts{{"busy", 0}, {"other ranks", 300}, {"launching", 50}});
}

TEST_CASE("a rank that waits for more than half of its time in collectives is bound by other ranks") {
  const auto word = [](Nanoseconds waiting_ns, const char* before) {
    JobReport job = job_of(2);
    in_steps(job).waiting_ns = waiting_ns;
    Report report = communicating();
    report.verdict.word = before;
    report = with_facts(job, std::move(report));
    return report.verdict.word + (report.verdict.evidence == "its own" ? "" : "!");
  };
  CHECK(word(150, "communication-bound") == "communication-bound!");
  CHECK(word(151, "communication-bound") == "rank-bound!");
  CHECK(word(151, "gpu-bound") == "gpu-bound!");
  CHECK(word(151, "sync-bound") == "sync-bound");
}

TEST_CASE("a verdict about another GPU, or without collectives, stays as it is") {
  JobReport job = job_of(2);
  in_steps(job).waiting_ns = 200;
  Report other = communicating();
  other.verdict.device = 4;
  CHECK(with_facts(job, other).verdict.word == "communication-bound");
  Report none = communicating();
  none.verdict.collective_ns = 0;
  CHECK(with_facts(job, none).verdict.evidence == "its own");
}

TEST_CASE("a busy rank is held up by the one late rank of a job that is bound by it, and by nobody else") {
  struct Row {
    const char* verdict;
    JobShape shape;
    std::uint32_t late;
    const char* word;
    const char* held_up_by;
  };
  const std::vector<Row> rows = {
      {"rank-bound", JobShape::kOneRank, 1, "gpu-bound", "11"},
      {"rank-bound", JobShape::kOneRank, 0, "gpu-bound", ""},  // it is the late one
      {"rank-bound", JobShape::kOneRank, 2, "gpu-bound", ""},  // one without a recording
      {"rank-bound", JobShape::kInTurn, 1, "gpu-bound", ""},
      {"gpu-bound", JobShape::kOneRank, 1, "gpu-bound", ""},
      {"rank-bound", JobShape::kOneRank, 1, "sync-bound", ""},
  };
  for (const Row& row : rows) {
    JobReport job = job_of(3);
    job.ranks.pop_back();
    job.verdict = row.verdict;
    job.shape = row.shape;
    job.late = row.late;
    Report report;
    report.verdict.word = row.word;
    report = with_facts(job, std::move(report));
    CHECK(report.in_job->held_up_by == row.held_up_by);
    CHECK(report.verdict.word == (*row.held_up_by == '\0' ? row.word : "rank-bound"));
  }
}

}  // namespace synctrace::testing::job_facts_test
