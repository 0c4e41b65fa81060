// SPDX-License-Identifier: Apache-2.0
// The walk of rows on lanes: one order for all tables, and the lane and name of each row.
#include "timeline/rows.h"

#include <vector>

#include "support/catch.h"

namespace synctrace::timeline {
namespace {

std::vector<Row> rows_of(const Trace& trace, const RankLane* rank = nullptr) {
  std::vector<Row> rows;
  Rows(trace, rank).for_each([&](const Row& row) { rows.push_back(row); });
  return rows;
}

}  // namespace

TEST_CASE("rows come in the order of their begins, those that begin together in the order of their tables") {
  Trace trace;
  trace.operations.resize(2);
  trace.operations[0].span = {5, 8};
  trace.operations[1].span = {10, 11};
  trace.operations[1].device = DeviceId{1};
  trace.operations[1].context = ContextId{2};
  trace.operations[1].stream = StreamId{3};
  trace.launches.resize(1);
  trace.launches[0].span = {10, 12};
  trace.calls.resize(1);
  trace.calls[0].span = {10, 20};
  trace.calls[0].thread = ThreadId{7};
  const std::vector<Row> rows = rows_of(trace);
  REQUIRE(rows.size() == 4);
  CHECK(rows[0].table == Table::kOperations);
  CHECK(rows[1].table == Table::kCalls);
  CHECK(rows[1].lane == LaneKey{LaneKind::kThread, 7, 0, 0});
  CHECK(rows[2].table == Table::kLaunches);
  CHECK(rows[3].table == Table::kOperations);
  CHECK(rows[3].index == 1);
  CHECK(rows[3].lane == LaneKey{LaneKind::kStream, 1, 2, 3});
}

TEST_CASE("marks and ranges of NVTX are rows, and a range that is free to overlap has a lane of its own") {
  Trace trace;
  trace.last_ns = 100;
  const ThreadId thread{4};
  trace.nvtx_events.push_back({10, thread, {}, StringId{1}, 0, NvtxEvent::What::kPush});
  trace.nvtx_events.push_back({20, thread, {}, StringId{2}, 9, NvtxEvent::What::kStart});
  trace.nvtx_events.push_back({30, thread, {}, StringId{3}, 0, NvtxEvent::What::kMark});
  trace.nvtx_events.push_back({40, thread, {}, {}, 0, NvtxEvent::What::kPop});
  trace.nvtx_events.push_back({50, thread, {}, {}, 9, NvtxEvent::What::kEnd});
  const std::vector<Row> rows = rows_of(trace);
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].lane.kind == LaneKind::kThread);
  CHECK(rows[0].span == TimeSpan{10, 40});
  CHECK(rows[1].lane.kind == LaneKind::kRanges);
  CHECK(rows[1].span == TimeSpan{20, 50});
  CHECK(rows[2].table == Table::kMarks);
  CHECK(rows[2].index == 2);
  CHECK(rows[2].name == slice_name(SliceKind::kRange, 3));
}

TEST_CASE("a rank's operations with others are rows, in their waiting and their transfer") {
  RankLane lane;
  lane.exchanges.resize(2);
  lane.exchanges[0].span = {10, 30};
  lane.exchanges[0].wait_ns = 15;
  lane.exchanges[0].is_split = true;
  lane.exchanges[0].waits_for = 6;
  lane.exchanges[1].span = {40, 50};
  const Trace trace;
  const std::vector<Row> rows = rows_of(trace, &lane);
  REQUIRE(rows.size() == 2);
  CHECK(rows[1].lane.kind == LaneKind::kExchange);
  std::vector<SliceName> names;
  std::vector<TimeSpan> spans;
  for (const RankExchange& exchange : lane.exchanges) {
    for_each_part(exchange, [&](TimeSpan span, SliceName name) {
      spans.push_back(span);
      names.push_back(name);
    });
  }
  CHECK(spans == std::vector<TimeSpan>{{10, 25}, {25, 30}, {40, 50}});
  CHECK(names == std::vector<SliceName>{slice_name(SliceKind::kRankWait, 6), slice_name(SliceKind::kTransfer, 0),
                                        slice_name(SliceKind::kExchange, 0)});
}

}  // namespace synctrace::timeline
