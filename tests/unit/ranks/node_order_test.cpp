// SPDX-License-Identifier: Apache-2.0
#include "ranks/node_order.h"

#include "ranks/job.h"
#include "support/catch.h"

namespace synctrace::testing::node_order_test {
namespace {

constexpr Nanoseconds kUs = 1'000;
constexpr std::uint32_t kSteps = 10;

using Lanes = std::vector<std::vector<std::uint32_t>>;

// Two operations a step, of two communicators on two streams: rank 0 is ready for the first one first, and rank 1 for
// the second one, for which it comes 5 ms late. A step takes 10 ms.
RankSummary rank_of_two_streams(std::uint32_t rank) {
  RankSummary summary;
  summary.communicators = {{1, 2, rank, false}, {2, 2, rank, false}};
  summary.devices.emplace_back();
  summary.ordinary_steps = kSteps;
  for (std::uint32_t step = 0; step < kSteps; ++step) {
    for (const std::uint32_t which : {rank, 1 - rank}) {
      const Nanoseconds step_ns = step * 10'000 * kUs, ready_us = rank == 0 ? 1'000 : 6'000;
      CollectiveUnit unit;
      unit.communicator = which;
      unit.turn = step + 1;
      unit.in_steps = true;
      const bool is_first = which == rank;
      unit.own.end_ns = step_ns + (ready_us + (is_first ? 0 : 100)) * kUs;
      unit.own.begin_ns = is_first ? step_ns : unit.own.end_ns - 100 * kUs;
      unit.span = {unit.own.end_ns, step_ns + (which == 0 ? 7'000 : 7'200) * kUs};
      unit.after = static_cast<std::uint32_t>(summary.units.size());
      unit.after_end = is_first && step != 0;
      summary.units.push_back(unit);
    }
  }
  return summary;
}

TEST_CASE("each node stands behind those that it needs") {
  CHECK(order_of_nodes(4, Lanes{{3, 1}, {2, 0}}, {{3, 1}, {2, 0}, {1, 2}}) == std::vector<std::uint32_t>{3, 1, 2, 0});
  CHECK(order_of_nodes(0, {}, {}).empty());
}

TEST_CASE("a circle is begun with a rank's next node that lacks fewest") {
  CHECK(order_of_nodes(3, Lanes{{0, 1}, {1, 0, 2}}, {{0, 1}, {1, 0}, {0, 2}}) == std::vector<std::uint32_t>{0, 1, 2});
  CHECK(order_of_nodes(3, Lanes{{0, 1}, {1, 0}}, {{2, 0}, {1, 0}, {0, 1}, {1, 2}}) ==
        std::vector<std::uint32_t>{1, 2, 0});
  CHECK(order_of_nodes(2, Lanes{}, {{0, 1}, {1, 0}}) == std::vector<std::uint32_t>{0, 1});  // in no lane
}

TEST_CASE("ranks that are ready for two communicators in different orders are replayed to the end") {
  const Job job({rank_of_two_streams(0), rank_of_two_streams(1)});
  const Nanoseconds saving_ns = job.replay.saving(job.replay.all_alike());
  CHECK(saving_ns > 8 * 4'000 * kUs);
  CHECK(saving_ns < 10 * 6'000 * kUs);
}

}  // namespace
}  // namespace synctrace::testing::node_order_test
