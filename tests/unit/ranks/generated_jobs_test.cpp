// SPDX-License-Identifier: Apache-2.0
// Played jobs against what is found of them: who came last, how long the others waited, and that every nanosecond of
// every GPU is in one part.
#include <algorithm>
#include <map>
#include <random>
#include <utility>

#include "model/tolerances.h"
#include "support/catch.h"
#include "support/job_support.h"

namespace synctrace::testing::generator {
namespace {

struct Right {
  std::uint64_t judged = 0;  // meetings with a margin above 20 us
  std::uint64_t right = 0;
  Nanoseconds true_wait_ns = 0;
  Nanoseconds found_wait_ns = 0;
  Nanoseconds true_alone_ns = 0;  // waiting, and nothing else ran
  Nanoseconds found_alone_ns = 0;
};

Right compare(const JobRun& run, const Job& job) {
  Right sums;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::size_t> found;
  for (std::size_t i = 0; i < job.match.meetings.size(); ++i) {
    const Meeting& meeting = job.match.meetings[i];
    found[{job.match.communicators[meeting.communicator].hash, meeting.turn}] = i;
  }
  for (const TrueMeeting& truth : run.meetings) {
    const auto at = found.find({truth.communicator, truth.turn});
    if (at == found.end()) continue;
    const MeetingSplit& split = job.split.meetings[at->second];
    for (std::size_t i = 0; i < truth.ranks.size(); ++i) sums.true_wait_ns += truth.wait_of(i);
    sums.found_wait_ns += split.waited_ns;
    if (truth.margin_ns() <= kSureMarginNs) continue;
    ++sums.judged;
    sums.right += split.last == truth.last() ? 1 : 0;
  }
  for (std::size_t rank = 0; rank < job.ranks.size(); ++rank) {
    sums.true_alone_ns += run.waited_alone_ns[rank];
    for (const RankTime& time : job.times[rank]) sums.found_alone_ns += time.all.waiting_ns;
  }
  return sums;
}

JobProgram program_of(std::uint64_t seed) {
  constexpr std::uint32_t kRanks[] = {2, 3, 4, 8, 16, 32, 64};
  JobProgram program;
  program.ranks = kRanks[seed % std::size(kRanks)];
  program.steps = 6;
  program.jitter_percent = seed % 3 == 0 ? 20 : 3;
  program.clock_offset_ns = 3'000'000'000;
  program.drift_ppm = 40;
  program.tensor_ranks = seed % 4 == 1 ? 2 : 0;
  program.reads_loss = seed % 2 == 0;
  Fault fault;
  fault.what = static_cast<Fault::What>(seed % 6);
  fault.rank = static_cast<std::uint32_t>(seed * 5 % program.ranks);
  fault.ns = 400'000 + static_cast<Nanoseconds>(seed % 5) * 700'000;
  fault.bucket = static_cast<std::uint32_t>(seed % program.buckets);
  fault.in_turn = seed % 5 == 3;
  if (seed % 7 != 6) program.faults.push_back(fault);
  return program;
}

bool is_within(double share, Nanoseconds found, Nanoseconds truth) {
  const double away = static_cast<double>(found > truth ? found - truth : truth - found);
  return away <= share * static_cast<double>(truth) + 50'000;
}

}  // namespace

TEST_CASE("who was late, and how long the others waited, is found without any common clock") {
  Right all;
  for (std::uint64_t seed = 1; seed <= 56; ++seed) {
    const JobProgram program = program_of(seed);
    INFO("seed " << seed << ", " << program.ranks << " ranks");
    const JobRun run = play_job(program, seed);
    const auto job = job_of(run);
    CHECK(job->breaches.empty());
    CHECK(job->match.meetings.size() == run.meetings.size());
    CHECK(job->match.disagreements == 0);
    const Right sums = compare(run, *job);
    CHECK(is_within(0.05, sums.found_wait_ns, sums.true_wait_ns));
    CHECK(is_within(0.05, sums.found_alone_ns, sums.true_alone_ns));
    all.judged += sums.judged;
    all.right += sums.right;
  }
  CHECK(all.judged > 300);
  CHECK(static_cast<double>(all.right) >= 0.99 * static_cast<double>(all.judged));
}

TEST_CASE("the clocks of ranks are measured by what they did together") {
  JobProgram program;
  program.ranks = 4;
  program.steps = 30;
  program.clock_offset_ns = 5'000'000'000;
  program.drift_ppm = 30;
  const JobRun run = play_job(program, 11);
  const auto job = job_of(run);
  for (std::uint32_t i = 0; i < job->match.meetings.size(); ++i) {
    const auto members = job->match.members_of(job->match.meetings[i]);
    const auto end_of = [&](Member one) {
      return job->clocks.common(one.rank, job->ranks[one.rank].units[one.unit].span.end_ns);
    };
    for (const Member member : members) {
      REQUIRE(job->clocks.ranks[member.rank].known);
      const Nanoseconds away_ns = end_of(member) - end_of(members.front());
      CHECK(std::abs(away_ns) < 10'000);
    }
  }
}

TEST_CASE("a rank without a trace is said to be late where nobody else can have been") {
  JobProgram program;
  program.ranks = 4;
  program.steps = 20;
  // Late in some steps only: where it always is, nothing of what is left shows how long a transfer takes.
  program.faults.push_back({Fault::What::kHostCode, 0, 3'000'000, 1, true});
  JobRun run = play_job(program, 5);
  run.traces.erase(run.traces.begin() + 2);
  const auto job = job_of(run);
  CHECK(job->breaches.empty());
  std::uint64_t late = 0;
  std::uint64_t told = 0;
  for (std::size_t i = 0; i < job->match.meetings.size(); ++i) {
    const Meeting& meeting = job->match.meetings[i];
    CHECK(meeting.expected == 4);
    CHECK(meeting.count == 3);
    const TrueMeeting& truth = run.meetings[meeting.turn - 1];
    if (truth.last() != 2 || truth.margin_ns() < 1'000'000) continue;
    ++late;
    told += job->split.meetings[i].last == kNoRank ? 1 : 0;
  }
  CHECK(late >= 4);
  CHECK(told == late);
}

TEST_CASE("damaged traces of a job still add up") {
  JobProgram program;
  program.ranks = 4;
  program.steps = 12;
  program.faults.push_back({Fault::What::kRead, 1, 2'000'000, 0});
  const JobRun run = play_job(program, 9);
  for (std::uint64_t seed = 1; seed <= 24; ++seed) {
    JobRun damaged = run;
    std::mt19937_64 random(seed);
    std::vector<std::byte>& bytes = damaged.traces[seed % damaged.traces.size()];
    if (seed % 2 == 0) bytes.resize(bytes.size() / 4 + random() % (bytes.size() / 2));
    const std::size_t definitions = bytes.size() / 4;
    for (int i = 0; i < 20; ++i) bytes[definitions + random() % (bytes.size() - definitions)] ^= std::byte{0x40};
    std::vector<RankSummary> ranks;
    for (const std::vector<std::byte>& one : damaged.traces) {
      Result<Trace> loaded = load_trace_bytes(one, "damaged.synctrace");
      if (!loaded) continue;
      const Trace trace = std::move(loaded).value();
      ranks.push_back(summarize_rank(trace, attribute(trace)));
    }
    const Job job(std::move(ranks));
    INFO("seed " << seed);
    CHECK(job.breaches.empty());
    for (std::size_t i = 0; i < job.match.meetings.size(); ++i) CHECK(job.split.meetings[i].waited_ns >= 0);
  }
}

TEST_CASE("a job is as much faster as the next late rank allows") {
  for (const std::uint32_t tensor_ranks : {0U, 2U}) {
    JobProgram program;
    program.ranks = 4;
    program.steps = 40;
    program.jitter_percent = 1;
    program.tensor_ranks = tensor_ranks;
    program.faults = {{Fault::What::kHostCode, 1, 3'000'000, 1}, {Fault::What::kHostCode, 2, 2'000'000, 1}};
    const JobRun run = play_job(program, 3);
    const auto job = job_of(run);
    JobProgram without = program;
    without.faults.erase(without.faults.begin());
    const Nanoseconds true_ns = run.end_ns - play_job(without, 3).end_ns;
    // What rank 1 took longer than its share: all of the fault.
    Cuts cuts(4);
    cuts[1].resize(job->ranks[1].units.size(), 0);
    CHECK(job->replay.saving(Cuts(job->ranks.size())) == 0);
    const Cuts alike = job->replay.all_alike();
    for (std::size_t i = 0; i < cuts[1].size(); ++i) cuts[1][i] = alike[1][i];
    const Nanoseconds found_ns = job->replay.saving(cuts);
    INFO("true " << true_ns << ", found " << found_ns);
    CHECK(static_cast<double>(found_ns) > 0.8 * static_cast<double>(true_ns));
    CHECK(static_cast<double>(found_ns) < 1.2 * static_cast<double>(true_ns));
    without.faults.clear();
    const Nanoseconds all_true_ns = run.end_ns - play_job(without, 3).end_ns;
    const Nanoseconds all_ns = job->replay.saving(alike);
    INFO("all: true " << all_true_ns << ", found " << all_ns);
    CHECK(static_cast<double>(all_ns) > 0.8 * static_cast<double>(all_true_ns));
    CHECK(static_cast<double>(all_ns) < 1.2 * static_cast<double>(all_true_ns));
  }
}

}  // namespace synctrace::testing::generator
