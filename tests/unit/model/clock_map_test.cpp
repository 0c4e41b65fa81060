// SPDX-License-Identifier: Apache-2.0
// The repair of a GPU clock that is off, or drifts: work that starts before its launch, waits that return before its
// end.
#include "model/clock_map.h"
#include "model/tolerances.h"
#include "support/catch.h"

namespace synctrace::testing {
namespace {

constexpr Nanoseconds kStepNs = 2'000'000;

// A launch, its kernel and a wait for it, every 2 ms; the GPU's clock is `skew_ns` ahead and gains `drift_ppm`.
Trace make_trace(Nanoseconds skew_ns, Nanoseconds drift_ppm, int steps) {
  Trace trace;
  trace.contexts[ContextId{1}] = {DeviceId{0}, StreamId{7}};
  trace.apis[ApiId{1}] = {ApiCategory::kStreamSync, "cudaStreamSynchronize"};
  for (int i = 0; i < steps; ++i) {
    const Nanoseconds begin_ns = 1'000'000'000 + i * kStepNs;
    const Nanoseconds off_ns = skew_ns + i * kStepNs * drift_ppm / 1'000'000;
    Launch launch;
    launch.span = {begin_ns, begin_ns + 5'000};
    launch.correlation = CorrelationId{static_cast<std::uint32_t>(i) + 1};
    trace.launches.push_back(launch);
    Operation kernel;
    kernel.span = {begin_ns + 7'000 + off_ns, begin_ns + 1'007'000 + off_ns};
    kernel.context = ContextId{1};
    kernel.stream = StreamId{7};
    kernel.correlation = launch.correlation;
    trace.operations.push_back(kernel);
    Call sync;
    sync.span = {begin_ns + 6'000, begin_ns + 1'013'000};
    sync.api = ApiId{1};
    sync.category = ApiCategory::kStreamSync;
    sync.context = ContextId{1};
    sync.stream = StreamId{7};
    trace.calls.push_back(sync);
  }
  trace.windows.push_back({{0, 20'000'000'000}, "start"});
  return trace;
}

void check_causal(const Trace& trace, Nanoseconds tolerance_ns) {
  for (std::size_t i = 0; i < trace.operations.size(); ++i) {
    CAPTURE(i);
    REQUIRE(trace.operations[i].span.begin_ns + tolerance_ns >= trace.launches[i].span.begin_ns);
    REQUIRE(trace.operations[i].span.end_ns <= trace.calls[i].span.end_ns + tolerance_ns);
  }
}

}  // namespace

TEST_CASE("a clock in order is left alone") {
  Trace trace = make_trace(0, 0, 100);
  const Operation before = trace.operations[50];
  const ClockRepair repair = repair_clock(trace);
  CHECK(repair.broken_before == 0);
  CHECK(repair.largest_shift_ns == 0);
  CHECK(repair.is_usable());
  CHECK(trace.operations[50].span == before.span);
}

TEST_CASE("a clock that is off is shifted to the middle of what is possible") {
  for (const Nanoseconds skew_ns : {-40'000, -9'000, 8'000, 40'000}) {
    CAPTURE(skew_ns);
    Trace trace = make_trace(skew_ns, 0, 2'000);
    const ClockRepair repair = repair_clock(trace);
    CHECK(repair.broken_before == 2'000);
    CHECK(repair.broken_after == 0);
    CHECK(repair.is_usable());
    check_causal(trace, 0);
  }
}

TEST_CASE("a clock that drifts is followed") {
  Trace trace = make_trace(-20'000, 20, 4'000);  // 20 us a second
  const ClockRepair repair = repair_clock(trace);
  CHECK(repair.is_usable());
  check_causal(trace, kWorstSkewNs);
}

TEST_CASE("facts that nothing corrects make the clock unusable") {
  Trace trace = make_trace(0, 0, 1'000);
  for (std::size_t i = 0; i < trace.operations.size(); i += 2) {
    trace.operations[i].span.begin_ns -= 200'000;
    trace.operations[i].span.end_ns -= 200'000;
    trace.operations[i + 1].span.begin_ns += 50'000;
    trace.operations[i + 1].span.end_ns += 50'000;
  }
  CHECK_FALSE(repair_clock(trace).is_usable());
}

TEST_CASE("one launch joined with another's work says nothing about the clock") {
  Trace trace = make_trace(0, 0, 1'000);
  trace.launches.front().correlation = trace.launches.back().correlation;
  trace.launches.back().span = {trace.launches.back().span.begin_ns + 900'000,
                                trace.launches.back().span.begin_ns + 950'000};
  const ClockRepair repair = repair_clock(trace);
  CHECK(repair.largest_shift_ns == 0);
}

}  // namespace synctrace::testing
