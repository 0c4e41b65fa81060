// SPDX-License-Identifier: Apache-2.0
#include "whatif/graph_ranges.h"

#include "support/catch.h"

namespace synctrace {
namespace {

constexpr ThreadId kMain{1};
constexpr ThreadId kHelper{2};
constexpr StringId kStep{7};

void add_range(Trace& trace, Nanoseconds begin_ns, Nanoseconds end_ns) {
  NvtxEvent push;
  push.what = NvtxEvent::What::kPush;
  push.thread = kMain;
  push.time_ns = begin_ns;
  push.text = kStep;
  NvtxEvent pop = push;
  pop.what = NvtxEvent::What::kPop;
  pop.time_ns = end_ns;
  trace.nvtx_events.push_back(push);
  trace.nvtx_events.push_back(pop);
}

void add_sleep(Trace& trace, TimeSpan span, ThreadId waker) {
  HostWait wait;
  wait.thread = kMain;
  wait.span = span;
  wait.waker = waker;
  trace.host_waits.push_back(wait);
}

Trace trace_of_ranges() {
  Trace trace;
  trace.strings[kStep] = "step";
  add_range(trace, 100, 200);
  add_range(trace, 300, 400);
  return trace;
}

}  // namespace

TEST_CASE("a range covers its thread, and the thread that it waits for meanwhile") {
  Trace trace = trace_of_ranges();
  add_sleep(trace, {120, 180}, kHelper);
  add_sleep(trace, {310, 350}, kHelper);
  const GraphRanges ranges(trace, "step");
  REQUIRE(ranges.any());
  CHECK(ranges.covers(kMain, 101));
  CHECK_FALSE(ranges.covers(kMain, 250));
  CHECK(ranges.covers(kHelper, 121));
  CHECK(ranges.covers(kHelper, 180));
  CHECK_FALSE(ranges.covers(kHelper, 119));
  CHECK_FALSE(ranges.covers(kHelper, 181));
  CHECK(ranges.covers(kHelper, 350));
}

TEST_CASE("a sleep that begins or ends outside of a range, or that nobody ended, adds no thread") {
  Trace trace = trace_of_ranges();
  add_sleep(trace, {50, 150}, kHelper);
  add_sleep(trace, {180, 220}, kHelper);
  add_sleep(trace, {320, 330}, ThreadId{});
  const GraphRanges ranges(trace, "step");
  CHECK_FALSE(ranges.covers(kHelper, 130));
  CHECK_FALSE(ranges.covers(kHelper, 190));
  CHECK_FALSE(ranges.covers(ThreadId{}, 325));
}

TEST_CASE("no name, no ranges") {
  Trace trace = trace_of_ranges();
  CHECK_FALSE(GraphRanges(trace, "").any());
  CHECK_FALSE(GraphRanges(trace, "other").any());
}

}  // namespace synctrace
