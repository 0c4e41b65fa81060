// SPDX-License-Identifier: Apache-2.0
// How played jobs exchange data against what is said of it: each rule where it was planted and nowhere else, with the
// saving that the job played the other way has.
#include "findings/job/job_patterns.h"

#include <algorithm>
#include <string>

#include "support/catch.h"
#include "support/job_report_support.h"

namespace synctrace::testing::generator {
namespace {

JobProgram plain() {
  JobProgram program;
  program.ranks = 4;
  program.steps = 30;
  program.clock_offset_ns = 1'000'000'000;
  return program;
}

std::string names_of(const JobReport& report) {
  std::string names;
  for (const JobPattern& one : report.patterns) {
    names += (names.empty() ? "" : ", ") + std::string(one.rule->id) + " " + one.name;
    if (one.where.line != 0) names += " at " + std::to_string(one.where.line);
  }
  return names;
}

// The saving of the first row against the job that was played otherwise.
void check_saving(const JobProgram& program, const JobProgram& otherwise, double least, double most) {
  const JobRun run = play_job(program, 7);
  const JobReport report = report_of(run);
  REQUIRE_FALSE(report.patterns.empty());
  REQUIRE(report.patterns.front().saving);
  const Interval& saving = *report.patterns.front().saving;
  const auto truth_ns = static_cast<double>(run.end_ns - play_job(otherwise, 7).end_ns);
  INFO("true " << truth_ns << ", said " << saving.ns << " (" << saving.lo_ns << " - " << saving.hi_ns << ")");
  CHECK(static_cast<double>(saving.ns) > least * truth_ns);
  CHECK(static_cast<double>(saving.ns) < most * truth_ns);
  CHECK(saving.lo_ns <= saving.ns);
  CHECK(saving.ns <= saving.hi_ns);
}

}  // namespace

TEST_CASE("nothing is said of jobs that exchange data as they should") {
  JobProgram program = plain();
  CHECK(names_of(report_of(play_job(program, 3))).empty());
  program.tensor_ranks = 2;  // each result is needed at once
  CHECK(names_of(report_of(play_job(program, 3))).empty());
  program.tensor_ranks = 0;
  program.small_exchanges = 4;  // too few
  CHECK(names_of(report_of(play_job(program, 3))).empty());
  program.small_exchanges = 16;
  program.needs_each = true;
  CHECK(names_of(report_of(play_job(program, 3))).empty());
  program.needs_each = false;
  program.small_bytes = 4U << 20;  // too large
  CHECK(names_of(report_of(play_job(program, 3))).empty());
}

TEST_CASE("a rank that is late is no way of exchanging data") {
  for (const Fault::What what : {Fault::What::kHostCode, Fault::What::kRead, Fault::What::kCollector}) {
    JobProgram program = plain();
    program.faults.push_back({what, 2, 2'000'000, 1});
    CHECK(names_of(report_of(play_job(program, 3))).empty());
  }
}

TEST_CASE("many small operations in a row are named, with what one of them all saves") {
  JobProgram program = plain();
  program.small_exchanges = 40;
  const JobReport report = report_of(play_job(program, 7));
  CHECK(names_of(report) == "ST061 small-collectives at 45");
  REQUIRE(report.patterns.size() == 1);
  CHECK(report.patterns.front().per_step == 40);
  CHECK(report.patterns.front().bytes == 64U << 10);
  CHECK(report.patterns.front().operation == "AllReduce");
  JobProgram merged = program;
  merged.small_exchanges = 1;
  merged.small_bytes = 40 * program.small_bytes;
  check_saving(program, merged, 0.85, 1.15);
}

TEST_CASE("without operations of another size nothing is predicted, and that is said") {
  JobProgram program = plain();
  program.small_exchanges = 40;
  program.one_size = true;
  const JobReport report = report_of(play_job(program, 7));
  CHECK(names_of(report).find("ST061") != std::string::npos);
  REQUIRE_FALSE(report.patterns.empty());
  CHECK_FALSE(report.patterns.front().saving);
  CHECK_FALSE(report.patterns.front().not_predicted.empty());
}

TEST_CASE("gradients that are exchanged in every pass of a step are named") {
  JobProgram program = plain();
  program.passes = 3;
  program.transfer_ns = 400'000;
  const JobReport report = report_of(play_job(program, 7));
  CHECK(names_of(report) == "ST062 collective-in-every-pass at 45");
  REQUIRE(report.patterns.size() == 1);
  CHECK(report.patterns.front().per_step == 6);
  REQUIRE(report.patterns.front().saving);
  // The operation that is waited for, in each pass but the last.
  const Nanoseconds exposed_ns = 2 * 400'000 * static_cast<Nanoseconds>(report.steps);
  CHECK(report.patterns.front().saving->ns > exposed_ns / 2);
  CHECK(report.patterns.front().saving->ns < exposed_ns * 3 / 2);
}

TEST_CASE("host code of all ranks before a large exchange is named, where it is") {
  JobProgram program = plain();
  program.before_last_ns = 500'000;
  CHECK(names_of(report_of(play_job(program, 7))) == "ST062 late-collective at 64");
  JobProgram without = program;
  without.before_last_ns = 0;
  check_saving(program, without, 0.7, 1.15);
}

TEST_CASE("a read of all ranks before an exchange is named, where it is") {
  JobProgram program = plain();
  program.before_last_ns = 500'000;
  program.reads_before_last = true;
  CHECK(names_of(report_of(play_job(program, 7))) == "ST063 drained-collective at 62");
  JobProgram without = program;
  without.before_last_ns = 0;
  check_saving(program, without, 0.7, 1.15);
}

TEST_CASE("what is done now and then is no way of exchanging data") {
  JobProgram program = plain();
  program.steps = 2;
  program.small_exchanges = 40;
  CHECK(names_of(report_of(play_job(program, 3))).empty());
}

}  // namespace synctrace::testing::generator
