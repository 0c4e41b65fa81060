// SPDX-License-Identifier: Apache-2.0
// Which operations of several ranks are the same one, by hand-made summaries and traces.
#include "ranks/match.h"

#include <algorithm>

#include "support/catch.h"
#include "support/job_support.h"

namespace synctrace::testing::generator {
namespace {

RankSummary rank_with(std::uint32_t rank, std::uint32_t ranks, std::vector<std::uint64_t> signatures) {
  RankSummary summary;
  summary.communicators = {{0xc0de, ranks, rank, false}};
  summary.devices.emplace_back();
  for (std::size_t i = 0; i < signatures.size(); ++i) {
    CollectiveUnit unit;
    unit.span = {static_cast<Nanoseconds>(i) * 1'000, static_cast<Nanoseconds>(i) * 1'000 + 100};
    unit.turn = i + 1;
    unit.signature = signatures[i];
    summary.units.push_back(unit);
  }
  return summary;
}

}  // namespace

TEST_CASE("operations are matched by their communicator and their turn") {
  const std::vector<RankSummary> ranks = {rank_with(0, 3, {1, 2, 3}), rank_with(1, 3, {1, 2, 3}),
                                          rank_with(2, 3, {1, 2})};
  const JobMatch match = match_ranks(ranks);
  REQUIRE(match.meetings.size() == 3);
  CHECK(match.meetings[0].count == 3);
  CHECK(match.meetings[2].count == 2);
  CHECK(match.meetings[2].expected == 3);
  CHECK(match.meeting_of[1][2] == 2);
  CHECK(match.mismatches.empty());
}

TEST_CASE("operations that differ are said, once a communicator, and nothing is concluded from them") {
  const std::vector<RankSummary> ranks = {rank_with(0, 2, {1, 2, 3}), rank_with(1, 2, {1, 9, 8})};
  const JobMatch match = match_ranks(ranks);
  CHECK(match.meetings.size() == 1);
  CHECK(match.disagreements == 2);
  REQUIRE(match.mismatches.size() == 1);
  CHECK(match.mismatches[0].turn == 2);
  CHECK(match.meeting_of[0][1] == kNoMeeting);
}

TEST_CASE("an all-to-all of sends and receives has turns of its own") {
  std::vector<RankSummary> ranks = {rank_with(0, 3, {1, 2, 1}), rank_with(1, 3, {1, 2, 1}), rank_with(2, 3, {1, 2, 1})};
  for (RankSummary& rank : ranks) {
    rank.units[1].is_of_pairs = true;
    rank.units[1].turn = 1;  // the first one's, too
  }
  const JobMatch match = match_ranks(ranks);
  REQUIRE(match.meetings.size() == 3);
  for (const Meeting& meeting : match.meetings) CHECK(meeting.count == 3);
  CHECK(match.meeting_of[2][1] != match.meeting_of[2][0]);
  CHECK(match.mismatches.empty());
}

TEST_CASE("a send and the receive of the same turn on its peer are one operation") {
  std::vector<RankSummary> ranks = {rank_with(0, 2, {5}), rank_with(1, 2, {6})};
  for (RankSummary& rank : ranks) {
    rank.units[0].exchange = Exchange::kPairs;
    rank.units[0].turn = 0;
  }
  ranks[0].pairs = {{0, 0, 1, 7, true}};
  ranks[1].pairs = {{0, 0, 0, 7, false}};
  CHECK(match_ranks(ranks).meetings.size() == 1);
  ranks[1].pairs[0].is_send = true;
  CHECK(match_ranks(ranks).meetings.empty());
}

TEST_CASE("ranks of one job are those whose communicators hang together") {
  std::vector<RankSummary> ranks = {rank_with(0, 2, {1}), rank_with(1, 2, {1}), rank_with(0, 2, {1}), {}};
  ranks[2].communicators[0].hash = 0xbeef;
  CHECK(ranks_of_one_job(ranks) == std::vector<std::uint32_t>{0, 1});
  ranks[1].communicators.push_back({0xbeef, 2, 1, false});
  CHECK(ranks_of_one_job(ranks) == std::vector<std::uint32_t>{0, 1, 2});
  ranks.resize(1);
  CHECK(ranks_of_one_job(ranks).empty());
}

TEST_CASE("communicators whose number is not known make a job of the same program's ranks alone") {
  std::vector<RankSummary> ranks = {rank_with(0, 0, {1}), rank_with(0, 0, {1})};
  for (RankSummary& rank : ranks) rank.communicators[0].is_unnamed = true;
  CHECK(ranks_of_one_job(ranks).size() == 2);
  ranks[1].program = "another.py";
  CHECK(ranks_of_one_job(ranks).empty());
  ranks[0].job = ranks[1].job = "77";  // like ranks that are told their numbers by an argument
  CHECK(ranks_of_one_job(ranks).size() == 2);
  ranks[1].job = "78";
  ranks[1].program = ranks[0].program;
  CHECK(ranks_of_one_job(ranks).empty());
}

TEST_CASE("what an older NCCL does not number is no number") {
  JobProgram program;
  program.steps = 4;
  Trace trace = std::move(load_trace_bytes(play_job(program, 1).traces[0], "rank.synctrace")).value();
  for (auto& [id, one] : trace.communicators) one.hash = 0;
  const RankSummary rank = summarize_rank(trace, attribute(trace));
  REQUIRE_FALSE(rank.communicators.empty());
  CHECK(rank.communicators.front().is_unnamed);
}

TEST_CASE("sends to all peers are an all-to-all where as many receives are beside them, else a scatter") {
  JobProgram program;
  program.ranks = 4;
  program.steps = 4;
  const JobRun run = play_job(program, 1);
  for (const bool receives : {false, true}) {
    Trace trace = std::move(load_trace_bytes(run.traces[0], "rank.synctrace")).value();
    const StringId send{900'001}, receive{900'002};
    trace.strings[send] = "Send";
    trace.strings[receive] = "Recv";
    Collective first = trace.collectives.front();
    trace.collectives.erase(trace.collectives.begin());
    for (std::int32_t peer = 3; peer >= 1; --peer) {
      for (const StringId operation : {receive, send}) {
        if (operation == receive && !receives) continue;
        first.operation = operation;
        first.peer = peer;
        trace.collectives.insert(trace.collectives.begin(), first);
      }
    }
    const RankSummary rank = summarize_rank(trace, attribute(trace));
    const bool has_all_to_all =
        std::find(rank.operations.begin(), rank.operations.end(), "AllToAll") != rank.operations.end();
    CHECK(has_all_to_all == receives);
    CHECK(rank.pairs.size() == (receives ? 0 : 3));
    CHECK(rank.units.size() == run.meetings.size());
  }
}

TEST_CASE("kernels without records are matched by their order in a stream") {
  JobProgram program;
  program.steps = 4;
  const JobRun run = play_job(program, 1);
  std::vector<RankSummary> ranks;
  for (const std::vector<std::byte>& bytes : run.traces) {
    Trace trace = std::move(load_trace_bytes(bytes, "rank.synctrace")).value();
    trace.collectives.clear();
    trace.collective_launches.clear();
    trace.communicators.clear();
    ranks.push_back(summarize_rank(trace, attribute(trace)));
  }
  CHECK(ranks[0].without_record == run.meetings.size());
  CHECK(ranks_of_one_job(ranks).size() == 2);
  CHECK(match_ranks(ranks).meetings.size() == run.meetings.size());
}

}  // namespace synctrace::testing::generator
