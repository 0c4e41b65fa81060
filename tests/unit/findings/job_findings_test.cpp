// SPDX-License-Identifier: Apache-2.0
// Played jobs against what is said of them: the late rank, its line, what changing it saves for all ranks.
#include "findings/job/job_findings.h"

#include <numeric>

#include "support/catch.h"
#include "support/job_support.h"

namespace synctrace::testing::generator {
namespace {

JobReport report_of(const JobRun& run) {
  std::vector<Trace> traces;
  JobFindings findings;
  for (std::size_t i = 0; i < run.traces.size(); ++i) {
    traces.push_back(std::move(load_trace_bytes(run.traces[i], "rank.synctrace")).value());
    findings.summarize(i, traces.back(), {}, {});
  }
  for (const std::size_t file : findings.join()) findings.look_at(file, traces[file], {}, {});
  return findings.report();
}

JobProgram program_with(Fault::What what, Nanoseconds ns, std::uint32_t ranks = 4) {
  JobProgram program;
  program.ranks = ranks;
  program.steps = 40;
  program.clock_offset_ns = 2'000'000'000;
  program.faults.push_back({what, ranks / 2, ns, 1});
  return program;
}

}  // namespace

TEST_CASE("the line of one rank that makes the others wait is named, with what it saves for all") {
  for (const Fault::What what : {Fault::What::kHostCode, Fault::What::kRead, Fault::What::kLoader,
                                 Fault::What::kSlowKernel, Fault::What::kCollector, Fault::What::kAllocate}) {
    INFO("fault " << static_cast<int>(what));
    const JobProgram program = program_with(what, what == Fault::What::kRead ? 600'000 : 3'000'000);
    const JobRun run = play_job(program, 17);
    const JobReport report = report_of(run);
    CHECK(report.breaches.empty());
    CHECK(report.verdict == "rank-bound");
    CHECK(report.shape == JobShape::kOneRank);
    CHECK(report.late == 2);
    REQUIRE_FALSE(report.causes.empty());
    const JobCause& first = report.causes.front();
    INFO(first.name << " at line " << first.where.line << ", saves " << first.saving.ns);
    const std::uint32_t line = line_of(what);
    // A loader's own frames are a library's: the line is the one of the program that asked it.
    CHECK(first.where.line == (what == Fault::What::kLoader ? 70 : line));
    JobProgram without = program;
    without.faults.clear();
    const Nanoseconds truth_ns = run.end_ns - play_job(without, 17).end_ns;
    INFO("true " << truth_ns);
    CHECK(static_cast<double>(first.saving.ns) > 0.75 * static_cast<double>(truth_ns));
    CHECK(static_cast<double>(first.saving.ns) < 1.15 * static_cast<double>(truth_ns));
    CHECK(first.saving.hi_ns >= first.saving.ns);
    CHECK(first.saving.lo_ns <= first.saving.ns);
    // All waiting is somebody's.
    const Nanoseconds charged_ns =
        std::accumulate(report.causes.begin(), report.causes.end(), report.not_looked_at_ns + report.not_known_ns,
                        [](Nanoseconds sum, const JobCause& one) { return sum + one.waited_ns; });
    CHECK(charged_ns == report.waited_ns);
  }
}

TEST_CASE("a saving of the job ends where the next rank is late") {
  JobProgram program = program_with(Fault::What::kHostCode, 3'000'000);
  program.faults.push_back({Fault::What::kHostCode, 3, 2'500'000, 1});
  const JobRun run = play_job(program, 4);
  const JobReport report = report_of(run);
  CHECK(report.late == 2);
  JobProgram without = program;
  without.faults.erase(without.faults.begin());
  const Nanoseconds truth_ns = run.end_ns - play_job(without, 4).end_ns;
  // The same line on both ranks is one row; fixing it on both saves more than on the late rank alone.
  REQUIRE_FALSE(report.causes.empty());
  CHECK(static_cast<double>(report.causes.front().saving.ns) > 0.9 * static_cast<double>(truth_ns));
  CHECK(report.causes.front().ranks.front().rank == 2);
}

TEST_CASE("another late rank in each step is no rank's fault") {
  JobProgram program = program_with(Fault::What::kCollector, 3'000'000, 8);
  program.faults.front().in_turn = true;
  const JobReport report = report_of(play_job(program, 2));
  CHECK(report.verdict == "rank-bound");
  CHECK(report.shape == JobShape::kInTurn);
  REQUIRE_FALSE(report.causes.empty());
  CHECK(report.causes.front().ranks.size() > 3);
}

TEST_CASE("a GPU that is slower in all its kernels is no line's fault") {
  JobProgram program = program_with(Fault::What::kHostCode, 0);
  program.faults.clear();
  program.slow_gpu = true;
  const JobReport report = report_of(play_job(program, 2));
  CHECK(report.verdict == "rank-bound");
  CHECK(report.shape == JobShape::kOneGpu);
  CHECK(report.late == 0);
  CHECK(report.slow_gpu > 1.15);
  CHECK(report.slow_gpu < 1.25);
  REQUIRE_FALSE(report.causes.empty());
  CHECK(report.causes.front().name == "slow-gpu");
}

TEST_CASE("ranks that are even wait for nobody") {
  JobProgram program = program_with(Fault::What::kHostCode, 0);
  program.faults.clear();
  JobReport report = report_of(play_job(program, 2));
  CHECK(report.verdict != "rank-bound");
  CHECK(report.shape == JobShape::kEven);
  program.transfer_ns = 2'000'000;
  report = report_of(play_job(program, 2));
  CHECK(report.verdict == "communication-bound");
}

TEST_CASE("traces of different jobs are none") {
  JobFindings findings;
  JobProgram program;
  program.steps = 4;
  const JobRun run = play_job(program, 1);
  const Trace trace = std::move(load_trace_bytes(run.traces[0], "rank.synctrace")).value();
  findings.summarize(0, trace, {}, {});
  CHECK(findings.join().empty());
}

}  // namespace synctrace::testing::generator
