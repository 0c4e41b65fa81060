// SPDX-License-Identifier: Apache-2.0
// Waiting and transfer of single operations, by hand.
#include "ranks/split.h"

#include <cmath>
#include <cstdlib>

#include "support/catch.h"

namespace synctrace::testing {
namespace {

constexpr Nanoseconds kUs = 1'000;

// `lengths[rank][turn]` in us, of one communicator of all ranks; each operation ends at turn * 10 ms on each rank's
// clock.
std::vector<RankSummary> ranks_of(const std::vector<std::vector<Nanoseconds>>& lengths, Exchange exchange,
                                  std::int32_t root = -1) {
  std::vector<RankSummary> ranks;
  for (std::uint32_t rank = 0; rank < lengths.size(); ++rank) {
    RankSummary& summary = ranks.emplace_back();
    summary.communicators = {{1, static_cast<std::uint32_t>(lengths.size()), rank, false}};
    summary.devices.emplace_back();
    for (std::size_t i = 0; i < lengths[rank].size(); ++i) {
      CollectiveUnit unit;
      const Nanoseconds end_ns = static_cast<Nanoseconds>(i + 1) * 10'000 * kUs;
      unit.span = {end_ns - lengths[rank][i] * kUs, end_ns};
      unit.turn = i + 1;
      unit.exchange = exchange;
      unit.root = root;
      summary.units.push_back(unit);
    }
  }
  return ranks;
}

struct Found {
  JobMatch match;
  JobSplit split;
};

Found split_of(const std::vector<RankSummary>& ranks) {
  Found found;
  found.match = match_ranks(ranks);
  found.split = split_waits(ranks, found.match, measure_clocks(ranks, found.match));
  return found;
}

}  // namespace

TEST_CASE("the rank that was in an operation for the shortest time came last") {
  const auto found = split_of(ranks_of({{900}, {100}, {400}}, Exchange::kTogether));
  const MeetingSplit& split = found.split.meetings[0];
  CHECK(split.last == 1);
  CHECK(split.transfer_ns == 100 * kUs);
  CHECK(split.margin_ns == 300 * kUs);
  CHECK(split.waited_ns == 1'100 * kUs);
  CHECK(found.split.units[0][0].wait_ns == 800 * kUs);
  CHECK(found.split.units[0][0].waits_for == 1);
  CHECK(found.split.units[1][0].wait_ns == 0);
}

TEST_CASE("ranks that are late together wait for nobody") {
  const auto found = split_of(ranks_of({{100, 100}, {100, 101}}, Exchange::kTogether));
  CHECK(found.split.meetings[0].waited_ns == 0);
  CHECK(found.split.meetings[1].waited_ns == kUs);
}

TEST_CASE("all wait for the root of a broadcast, which waits for nobody") {
  std::vector<std::vector<Nanoseconds>> lengths(3, std::vector<Nanoseconds>(10, 50));
  lengths[1][7] = lengths[2][7] = 2'050;
  const auto found = split_of(ranks_of(lengths, Exchange::kFromRoot, 0));
  CHECK(found.split.meetings[7].last == 0);
  CHECK(found.split.meetings[7].margin_ns == 2'000 * kUs);
  CHECK(found.split.meetings[7].waited_ns == 4'000 * kUs);
  CHECK(found.split.meetings[6].waited_ns == 0);
}

TEST_CASE("where the root of a broadcast waits too, somebody else was late") {
  std::vector<std::vector<Nanoseconds>> lengths(3, std::vector<Nanoseconds>(10, 50));
  lengths[0][7] = lengths[2][7] = 2'050;
  const auto found = split_of(ranks_of(lengths, Exchange::kFromRoot, 0));
  CHECK(found.split.meetings[7].last == 1);
}

TEST_CASE("what a root of a reduction waited for, durations alone do not tell") {
  std::vector<std::vector<Nanoseconds>> lengths(3, std::vector<Nanoseconds>(10, 50));
  lengths[0][4] = 3'050;
  const auto found = split_of(ranks_of(lengths, Exchange::kToRoot, 0));
  CHECK(found.split.units[0][4].wait_ns == 3'000 * kUs);
  CHECK(found.split.units[0][4].waits_for == kNoRank);
}

TEST_CASE("no clock of damaged traces drifts as clocks cannot") {
  std::vector<RankSummary> ranks =
      ranks_of({std::vector<Nanoseconds>(20, 50), std::vector<Nanoseconds>(20, 50)}, Exchange::kTogether);
  for (std::uint32_t i = 0; i < 20; ++i) {
    const Nanoseconds first_ns = i < 10 ? 1'000'000 : kLatestTime;
    ranks[0].units[i].span = {first_ns - 1'000, first_ns};
    ranks[1].units[i].span = {i * 10, 1'000'000 + i};
  }
  const RankClocks clocks = measure_clocks(ranks, match_ranks(ranks));
  REQUIRE(clocks.ranks[1].known);
  CHECK(std::abs(clocks.ranks[1].drift) < 1e-3);
  for (const Nanoseconds t : {Nanoseconds{0}, kLatestTime / 2, kLatestTime})
    CHECK(std::abs(clocks.common(1, t) - t) <= kLatestTime);
}

TEST_CASE("of a pair the side that the clocks show to be late is") {
  // All-reduces first, by which the clocks are measured; then a send from 0 to 1 in each of ten turns.
  std::vector<RankSummary> ranks =
      ranks_of({std::vector<Nanoseconds>(20, 50), std::vector<Nanoseconds>(20, 50)}, Exchange::kTogether);
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    for (std::uint32_t i = 10; i < 20; ++i) {
      CollectiveUnit& unit = ranks[rank].units[i];
      unit.exchange = Exchange::kPairs;
      unit.signature = 2 + rank;
      unit.turn = 0;
      ranks[rank].pairs.push_back({i, 0, 1 - rank, i - 9, rank == 0});
    }
    for (CollectiveUnit& unit : ranks[rank].units) {
      unit.span.begin_ns += rank * 7'000'000'000;
      unit.span.end_ns += rank * 7'000'000'000;
    }
  }
  ranks[1].units[15].span.begin_ns -= 900 * kUs;
  const auto found = split_of(ranks);
  CHECK(found.split.units[1][15].wait_ns == 900 * kUs);
  CHECK(found.split.units[1][15].waits_for == 0);
  CHECK(found.split.units[0][15].wait_ns == 0);
}

TEST_CASE("of two that exchange with nobody else the one that was there for the shorter time came late") {
  std::vector<RankSummary> ranks =
      ranks_of({std::vector<Nanoseconds>(10, 50), std::vector<Nanoseconds>(10, 50)}, Exchange::kPairs);
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    for (std::uint32_t i = 0; i < 10; ++i) {
      ranks[rank].units[i].turn = 0;
      ranks[rank].pairs.push_back({i, 0, 1 - rank, i + 1, rank == 0});
    }
  }
  ranks[1].units[5].span.begin_ns -= 900 * kUs;
  const auto found = split_of(ranks);
  CHECK(found.split.units[1][5].wait_ns == 900 * kUs);
  CHECK(found.split.units[1][5].waits_for == 0);
  CHECK(found.split.units[0][5].wait_ns == 0);
}

// By the wall clock of their host: they do nothing else together.
TEST_CASE("a sender that left long before is not late, however slow the receiver's kernel was") {
  std::vector<RankSummary> ranks =
      ranks_of({std::vector<Nanoseconds>(10, 50), std::vector<Nanoseconds>(10, 50)}, Exchange::kPairs);
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    ranks[rank].host = "node0";
    ranks[rank].wall_lead_ns = rank == 0 ? 7'000'000'000 : 0;
    for (std::uint32_t i = 0; i < 10; ++i) {
      CollectiveUnit& unit = ranks[rank].units[i];
      unit.turn = 0;
      if (rank == 1) unit.span = {unit.span.begin_ns + 7'000'000'000, unit.span.end_ns + 7'000'000'000};
      ranks[rank].pairs.push_back({i, 0, 1 - rank, i + 1, rank == 0});
    }
  }
  ranks[0].units[5].span.begin_ns -= 4'000 * kUs;
  ranks[0].units[5].span.end_ns -= 4'000 * kUs;
  ranks[1].units[5].span.begin_ns -= 200 * kUs;
  const auto found = split_of(ranks);
  CHECK(found.split.units[1][5].wait_ns == 0);
  CHECK(found.split.units[1][5].sender == 0);
  CHECK(found.split.units[1][5].sent_before_ns == 3'800 * kUs);
  CHECK(found.split.meetings[5].waited_ns == 0);
}

// Rank 1 receives from rank 0 and sends to rank 2 in one kernel; one of those two is late, the other began with rank 1.
TEST_CASE("a kernel of several pairs waits for the late one, whichever pair comes first") {
  for (const std::uint32_t late : {0U, 2U}) {
    CAPTURE(late);
    std::vector<RankSummary> ranks =
        ranks_of(std::vector<std::vector<Nanoseconds>>(3, std::vector<Nanoseconds>(20, 50)), Exchange::kTogether);
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
      for (std::uint32_t i = 10; i < 20; ++i) {
        CollectiveUnit& unit = ranks[rank].units[i];
        unit.exchange = Exchange::kPairs;
        unit.signature = 2 + rank;
        unit.turn = 0;
        if (rank > 0) ranks[rank].pairs.push_back({i, 0, rank - 1, i - 9, false});
        if (rank < 2) ranks[rank].pairs.push_back({i, 0, rank + 1, i - 9, true});
      }
    }
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
      if (rank != late) ranks[rank].units[15].span.begin_ns -= 900 * kUs;
    }
    const auto found = split_of(ranks);
    CHECK(found.split.units[1][15].wait_ns == 900 * kUs);
    CHECK(found.split.units[1][15].waits_for == late);
    CHECK(found.split.units[late][15].wait_ns == 0);
    Nanoseconds waited_ns = 0;
    for (const MeetingSplit& meeting : found.split.meetings) waited_ns += meeting.waited_ns;
    CHECK(waited_ns == 1'800 * kUs);
  }
}

}  // namespace synctrace::testing
