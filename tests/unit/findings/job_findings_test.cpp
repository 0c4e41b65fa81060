// SPDX-License-Identifier: Apache-2.0
// Played jobs against what is said of them: the late rank, its line, what changing it saves for all ranks.
#include "findings/job/job_findings.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "findings/job/job_facts.h"
#include "support/catch.h"
#include "support/job_report_support.h"

namespace synctrace::testing::generator {
namespace {

JobProgram program_with(Fault::What what, Nanoseconds ns, std::uint32_t ranks = 4) {
  JobProgram program;
  program.ranks = ranks;
  program.steps = 40;
  program.clock_offset_ns = 2'000'000'000;
  program.faults.push_back({what, ranks / 2, ns, 1});
  return program;
}

JobProgram program_with(const std::vector<Fault>& faults) {
  JobProgram program;
  program.ranks = 4;
  program.steps = 40;
  program.kernel_ns = 20'000;  // the host is never far ahead, so all of a fault is felt
  program.faults = faults;
  return program;
}

// How much shorter the job is without the faults that `are_gone`, as bits.
Nanoseconds saved_without(std::vector<Fault> faults, std::uint64_t are_gone) {
  const Nanoseconds now_ns = play_job(program_with(faults), 17).end_ns;
  std::size_t at = 0;
  std::erase_if(faults, [&](const Fault&) { return (are_gone >> at++ & 1) != 0; });
  return now_ns - play_job(program_with(faults), 17).end_ns;
}

}  // namespace

TEST_CASE("the line of one rank that makes the others wait is named, with what it saves for all") {
  using enum Fault::What;
  const std::uint32_t ranks = GENERATE(4U, 8U);
  for (const Fault::What what :
       {kHostCode, kRead, kLoader, kSlowKernel, kCollector, kAllocate, kPause, kReadFile, kLock, kStarved}) {
    INFO("fault " << static_cast<int>(what) << ", " << ranks << " ranks");
    const JobProgram program = program_with(what, what == kRead ? 600'000 : 3'000'000, ranks);
    const JobRun run = play_job(program, 17);
    const JobReport report = report_of(run);
    CHECK(report.breaches.empty());
    CHECK(report.verdict == "rank-bound");
    CHECK(report.shape == JobShape::kOneRank);
    CHECK(report.late == ranks / 2);
    REQUIRE_FALSE(report.causes.empty());
    const JobCause& first = report.causes.front();
    INFO(first.name << " at line " << first.where.line << ", saves " << first.saving.ns);
    const std::uint32_t line = line_of(what);
    // A loader's own frames are a library's: the line is the one of the program that asked it.
    CHECK(first.where.line == (what == kLoader ? 70 : line));
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

TEST_CASE("ranks that do the same and differ by chance hold up nobody") {
  for (const std::uint32_t ranks : {2U, 4U, 8U}) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      JobProgram program;
      program.ranks = ranks;
      program.steps = 30;
      program.jitter_percent = 70;
      program.kernels = 2;
      const JobReport report = report_of(play_job(program, seed));
      INFO(ranks << " ranks, seed " << seed << ", " << report.verdict << ", late " << report.late << " "
                 << report.late_share_ns << " of " << report.waited_ns);
      CHECK(report.shape != JobShape::kOneRank);
    }
  }
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

TEST_CASE("of each rank a timeline shows all operations, in waiting and transfer, on a clock that all share") {
  const JobRun run = play_job(program_with(Fault::What::kHostCode, 3'000'000), 17);
  JobFindings findings;
  std::deque<Findings> ranks;
  for (std::size_t i = 0; i < run.traces.size(); ++i) findings.summarize(i, findings_of_rank(run.traces[i], ranks));
  REQUIRE(findings.join());
  CHECK(findings.to_draw(2).front() == 2);  // the late one comes first,
  CHECK(findings.to_draw(2).back() != 2);   // then a usual one
  CHECK(findings.to_draw(99).size() == 4);
  const JobReport report = findings.report();
  std::vector<std::vector<Nanoseconds>> ends(4);  // the transfers' ends, on the clock that all share
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    const RankLane lane = findings.lane(rank);
    REQUIRE(lane.clock.known);
    Nanoseconds waited_ns = 0;
    Nanoseconds last_ns = 0;
    for (const RankExchange& exchange : lane.exchanges) {
      CHECK(exchange.span.begin_ns >= last_ns);
      last_ns = exchange.span.begin_ns;
      CHECK(lane.operations.at(exchange.operation) == "AllReduce");
      CHECK(std::abs(lane.clock.own(lane.clock.common(last_ns)) - last_ns) <= 1);
      CHECK(exchange.is_split);
      if (exchange.wait_ns < exchange.span.length_ns()) ends[rank].push_back(lane.clock.common(exchange.span.end_ns));
      waited_ns += exchange.wait_ns;
      if (exchange.wait_ns > 0) CHECK_FALSE(lane.labels.at(exchange.waits_for) == lane.label);
    }
    CHECK(ends[rank].size() == report.ranks[rank].collectives);
    CHECK(waited_ns >= report.ranks[rank].devices.front().all.waiting_ns);  // some of it beside computing
    CHECK((lane.typical.length_ns() > 0) == (rank == 2));
  }
  for (std::size_t i = 0; i < ends[0].size(); ++i) {
    for (std::uint32_t rank = 1; rank < 4; ++rank) CHECK(std::abs(ends[rank].at(i) - ends[0][i]) < 20'000);
  }
}

TEST_CASE("a rank's own report says what only all of them tell") {
  const JobRun run = play_job(program_with(Fault::What::kHostCode, 3'000'000), 17);
  const JobReport job = report_of(run);
  std::deque<Findings> ranks;
  Report report = findings_of_rank(run.traces[0], ranks).report();
  CHECK(report.verdict.word == "communication-bound");
  add_job_facts(job, 0, report);
  CHECK(report.verdict.word == "rank-bound");
  REQUIRE(report.in_job);
  CHECK(report.in_job->waits_for.front().rank == "2");
  Nanoseconds sum_ns = 0;
  for (const WaitedRank& one : report.in_job->waits_for) sum_ns += one.waiting_ns;
  CHECK(sum_ns == report.in_job->waiting_ns);
  Nanoseconds parts_ns = 0;
  for (const TimePart& part : report.verdict.parts) parts_ns += part.ns;
  CHECK(parts_ns == report.verdict.of_ns);
}

TEST_CASE("a busy rank of a job that waits for another one is not bound by its GPU") {
  const JobReport job = report_of(play_job(program_with(Fault::What::kHostCode, 3'000'000), 17));
  const auto busy_as = [&](std::size_t rank) {
    Report report;
    report.verdict.word = "gpu-bound";
    add_job_facts(job, rank, report);
    return report;
  };
  CHECK(busy_as(0).verdict.word == "rank-bound");
  CHECK(busy_as(0).in_job->held_up_by == "2");
  CHECK(busy_as(2).verdict.word == "gpu-bound");  // the late one's GPU may well be what is late
  CHECK(busy_as(2).in_job->held_up_by.empty());
}

TEST_CASE("a line that computes on a busy machine is one row") {
  const auto starve = [](Trace& trace) {  // every other look finds the thread kept from its processor
    bool is_kept = false;
    for (Sample& sample : trace.samples) {
      if (sample.state != format::Sample::State::kRunning) continue;
      if (is_kept) sample.state = format::Sample::State::kRunnable;
      is_kept = !is_kept;
    }
  };
  const JobRun run = play_job(program_with(Fault::What::kHostCode, 3'000'000), 17);
  const JobReport report = report_of(run, starve);
  CHECK(report.late == 2);
  REQUIRE_FALSE(report.causes.empty());
  CHECK(report.causes.front().where.line == line_of(Fault::What::kHostCode));
  const auto rows = std::count_if(report.causes.begin(), report.causes.end(), [](const JobCause& one) {
    return one.where.line == line_of(Fault::What::kHostCode);
  });
  CHECK(rows == 1);
  const Nanoseconds charged_ns =
      std::accumulate(report.causes.begin(), report.causes.end(), report.not_looked_at_ns + report.not_known_ns,
                      [](Nanoseconds sum, const JobCause& one) { return sum + one.waited_ns; });
  CHECK(charged_ns == report.waited_ns);
}

TEST_CASE("recordings that are missing, cut short or of several GPUs are counted") {
  JobRun run = play_job(program_with(Fault::What::kHostCode, 3'000'000), 17);
  run.traces.erase(run.traces.begin());
  std::int64_t rank = 0;
  const JobReport report = report_of(run, [&](Trace& trace) {
    trace.facts["rank"] = std::to_string(++rank);
    if (rank == 3) trace.stats.add(kLossUncleanEnd);
  });
  CHECK(report.recorded_ranks == 3);
  CHECK(report.expected_ranks == 4);
  CHECK(report.missing == std::vector<std::int64_t>{0});
  REQUIRE(report.ranks.size() == 3);
  CHECK_FALSE(report.ranks[0].cut_short);
  CHECK(report.ranks[2].cut_short);
  CHECK(report.ranks[2].gpus_as_one == 1);
  // Where a process is two ranks, the number of its launcher says nothing of them.
  const JobReport mixed = report_of(run, [](Trace& trace) {
    const std::size_t half = trace.operations.size() / 2;
    for (std::size_t i = half; i < trace.operations.size(); ++i) trace.operations[i].device = DeviceId{1};
  });
  CHECK(mixed.recorded_ranks == 6);
  CHECK(mixed.missing.empty());
  REQUIRE_FALSE(mixed.ranks.empty());
  CHECK(mixed.ranks[0].gpus_as_one == 2);
}

TEST_CASE("a GPU that copied as long as it computed worked for the rank") {
  const JobRun run = play_job(program_with(Fault::What::kHostCode, 3'000'000), 17);
  const JobReport report = report_of(run, [](Trace& trace) {
    Operation work = trace.operations[trace.operations.size() / 2];
    work.device = DeviceId{1};
    work.span.end_ns = work.span.begin_ns + 1'000;
    work.kind = OperationKind::kKernel;
    trace.operations.push_back(work);
    work.span = {work.span.end_ns, work.span.end_ns + 1'000};
    work.kind = OperationKind::kCopy;
    work.copy_kind = CopyKind::kHostToDevice;
    trace.operations.push_back(work);
    std::stable_sort(trace.operations.begin(), trace.operations.end(),
                     [](const Operation& a, const Operation& b) { return a.span.begin_ns < b.span.begin_ns; });
  });
  CHECK(report.ranks.at(0).devices.size() == 2);
}

TEST_CASE("each set of a job's changes saves what the job without just these faults saves") {
  using enum Fault::What;
  // Both make one rank late, and what they save adds up. Where another rank is late right behind it, both together save
  // no more than each does.
  const std::vector<Fault> faults =
      GENERATE(std::vector<Fault>{{kPause, 1, 3'000'000, 1}, {kLock, 1, 2'500'000, 1}},
               std::vector<Fault>{{kHostCode, 1, 3'000'000, 1}, {kPause, 1, 2'500'000, 1}, {kLock, 2, 4'000'000, 1}});
  const JobReport report = report_of(play_job(program_with(faults), 17), {}, true);
  REQUIRE(report.sets.size() == 3);
  std::vector<std::uint64_t> faults_of;  // by cause
  for (std::size_t i = 0; i < 2; ++i) {
    const auto same = std::find_if(faults.begin(), faults.end(), [&](const Fault& fault) {
      return line_of(fault.what) == report.causes[i].where.line;
    });
    REQUIRE(same != faults.end());
    faults_of.push_back(std::uint64_t{1} << (same - faults.begin()));
  }
  for (const JobCauseSet& set : report.sets) {
    std::uint64_t gone = 0;
    for (std::size_t i = 0; i < 2; ++i) gone |= (set.causes >> i & 1) != 0 ? faults_of[i] : 0;
    const auto truth_ns = static_cast<double>(saved_without(faults, gone));
    INFO("set " << set.causes << " saves " << set.saving.ns << ", true " << truth_ns);
    CHECK(static_cast<double>(set.saving.ns) > 0.85 * truth_ns);
    CHECK(static_cast<double>(set.saving.ns) < 1.15 * truth_ns);
    CHECK((set.saving.lo_ns <= set.saving.ns && set.saving.ns <= set.saving.hi_ns));
    CHECK(set.saving.hi_ns <= report.base_ns);
  }
  CHECK(report.sets[0].saving.ns == report.causes[0].saving.ns);
  CHECK(report.sets[2].saving.ns == report.causes[1].cumulative_ns);
  CHECK(report_of(play_job(program_with(faults), 17)).sets.empty());  // nobody asked
}

TEST_CASE("the first five changes of a job can be chosen one by one, all others together") {
  using enum Fault::What;
  std::vector<Fault> faults;
  for (const Fault::What what : {kHostCode, kLoader, kCollector, kAllocate, kPause, kReadFile, kLock, kStarved})
    faults.push_back({what, 1, 1'000'000, 1});
  const JobReport report = report_of(play_job(program_with(faults), 17), {}, true);
  REQUIRE(report.causes.size() >= 7);
  std::uint64_t last = 0;
  CHECK(report.sets.size() == 63);
  for (const JobCauseSet& set : report.sets) {
    const std::uint64_t others = set.causes >> 5;
    if (others != 0 && last == 0) last = others;
    CHECK((others == 0 || others == last));
  }
  CHECK(last > 1);
}

TEST_CASE("traces of different jobs are none") {
  JobFindings findings;
  JobProgram program;
  program.steps = 4;
  const JobRun run = play_job(program, 1);
  std::deque<Findings> ranks;
  findings.summarize(0, findings_of_rank(run.traces[0], ranks));
  CHECK_FALSE(findings.join());
}

}  // namespace synctrace::testing::generator
