// SPDX-License-Identifier: Apache-2.0
#include "findings/job/late_rank.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "support/catch.h"

namespace synctrace::testing::late_rank_test {
namespace {

constexpr Nanoseconds kMs = 1'000'000;
constexpr std::uint64_t kEverybody = 0xfeed;

struct Job {
  std::vector<Report> reports;

  explicit Job(std::size_t ranks, Nanoseconds step_ns = 40 * kMs) : reports(ranks) {
    for (Report& report : reports) {
      report.boot_id = "9f2f8a97";
      report.steps.ordinary_mean_ns = step_ns;
    }
  }

  // Each rank calls as much after the first as these say.
  void operation(std::uint64_t turn, const std::vector<Nanoseconds>& after_ns) {
    for (std::size_t rank = 0; rank < after_ns.size(); ++rank) {
      reports[rank].collective_calls.push_back({kEverybody, turn, static_cast<std::uint32_t>(reports.size()),
                                                static_cast<Nanoseconds>(turn) * 40 * kMs + after_ns[rank]});
    }
  }

  std::optional<LateRank> late() const { return late_rank(reports); }
};

TEST_CASE("the rank that calls last, again and again, is late by the middle of its times") {
  Job job(3);
  for (std::uint64_t turn = 1; turn <= 25; ++turn) {
    const bool is_other = turn % 5 == 0;  // one in five
    job.operation(turn, {0, is_other ? 9 * kMs : kMs / 2, is_other ? kMs : static_cast<Nanoseconds>(turn) * kMs});
  }
  const auto late = job.late();
  REQUIRE(late);
  CHECK(late->report == 2);
  CHECK(late->last_of == 20);
  CHECK(late->operations == 25);
  CHECK(late->behind_ns >= 12 * kMs);
  CHECK(late->behind_ns <= 14 * kMs);
}

TEST_CASE("ranks that take turns at being late, and few operations, name nobody") {
  Job turns(2);
  for (std::uint64_t turn = 1; turn <= 40; ++turn)
    turns.operation(turn, {turn % 4 == 0 ? 20 * kMs : 0, turn % 4 == 0 ? 0 : 20 * kMs});
  CHECK_FALSE(turns.late());  // three in four
  Job few(2);
  for (std::uint64_t turn = 1; turn <= 19; ++turn) few.operation(turn, {0, 20 * kMs});
  CHECK_FALSE(few.late());
  few.operation(20, {0, 20 * kMs});
  CHECK(few.late());
}

TEST_CASE("a rank is late by a twentieth of a step at least, and by a tenth of a millisecond") {
  const auto [step_ms, behind_us, is_late] = GENERATE(table<Nanoseconds, Nanoseconds, bool>(
      {{40, 2000, true}, {40, 1999, false}, {1, 99, false}, {1, 100, true}, {0, 100, true}}));
  CAPTURE(step_ms, behind_us);
  Job job(2, step_ms * kMs);
  for (std::uint64_t turn = 1; turn <= 20; ++turn) job.operation(turn, {behind_us * 1000, 0});
  CHECK(job.late().has_value() == is_late);
}

TEST_CASE("only what all its ranks called is compared, on one clock") {
  Job job(2);
  for (std::uint64_t turn = 1; turn <= 30; ++turn) job.operation(turn, {0, 20 * kMs});
  CHECK(job.late());
  for (CollectiveCall& call : job.reports[0].collective_calls) call.ranks = call.turn <= 19 ? 2 : 4;
  for (CollectiveCall& call : job.reports[1].collective_calls) call.ranks = call.turn <= 19 ? 2 : 4;
  CHECK_FALSE(job.late());  // 19 are left: two of the others' ranks were not recorded
  Job hosts(2);
  for (std::uint64_t turn = 1; turn <= 30; ++turn) hosts.operation(turn, {0, 20 * kMs});
  hosts.reports[1].boot_id = "another";
  CHECK_FALSE(hosts.late());
  hosts.reports[0].boot_id = hosts.reports[1].boot_id = "";
  CHECK_FALSE(hosts.late());
  CHECK_FALSE(late_rank(std::vector<Report>(1)));
  CHECK_FALSE(late_rank({}));
}

}  // namespace
}  // namespace synctrace::testing::late_rank_test
