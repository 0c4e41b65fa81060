// SPDX-License-Identifier: Apache-2.0
#include "ranks/host_pace.h"

#include <cmath>
#include <vector>

#include "attribution/attribute.h"
#include "model/trace.h"
#include "support/catch.h"

namespace synctrace::testing::host_pace_test {
namespace {

// Steps of 20 launches with short, middle and long pauses between them, and one of 20 ms that a line takes.
HostPace pace_of(double slower, Nanoseconds line_ns = 0, int steps = 30) {
  Trace trace;
  Nanoseconds now_ns = 0;
  for (int step = 0; step < steps; ++step) {
    now_ns += line_ns;
    for (int i = 0; i < 20; ++i) {
      const auto length_ns = static_cast<Nanoseconds>(5'000 * slower);
      Launch launch;
      launch.span = {now_ns, now_ns + length_ns};
      launch.thread = ThreadId{static_cast<std::uint32_t>(1 + i % 2)};
      trace.launches.push_back(launch);
      now_ns += length_ns + static_cast<Nanoseconds>((1 + i % 5) * 10'000 * slower);
    }
  }
  return host_pace_of(trace);
}

bool is_near(double value, double wanted) { return std::abs(value - wanted) < 0.01; }

TEST_CASE("a host is slower where launches and all pauses between them are longer") {
  const std::vector<HostPace> others = {pace_of(1.0), pace_of(1.02), pace_of(3.0)};
  CHECK(is_near(slower_host(pace_of(1.3), others), 1.3 / 1.02));
  CHECK(slower_host(pace_of(1.05), others) == 0);
  CHECK(slower_host(pace_of(1.0), others) == 0);
}

TEST_CASE("a line that takes long makes no host slower") {
  const std::vector<HostPace> others = {pace_of(1.0)};
  CHECK(slower_host(pace_of(1.0, 20'000'000), others) == 0);
  CHECK(is_near(slower_host(pace_of(1.2, 20'000'000), others), 1.2));
}

TEST_CASE("few launches tell nothing") {
  CHECK(pace_of(1.0, 0, 10).launches == 0);
  CHECK(pace_of(1.0, 0, 11).launches == 220);
  CHECK(slower_host(pace_of(2.0, 0, 10), std::vector<HostPace>{pace_of(1.0)}) == 0);
  CHECK(slower_host(pace_of(2.0), std::vector<HostPace>{pace_of(1.0, 0, 10)}) == 0);
  CHECK(slower_host(pace_of(2.0), std::vector<HostPace>{pace_of(1.0, 0, 10), pace_of(1.0)}) == 2.0);
}

// Two threads take turns, as a program and its autograd: each launches for 4 ms of a step of 10 ms, and waits while the
// other one does. For the last 2 ms both wait, in one of these ways.
enum class Wait { kNone, kSleep, kCall, kPoll, kFullQueue, kFullQueueAtMemset, kPageableCopy };

Nanoseconds busy_of(Wait wait) {
  constexpr Nanoseconds kMs = 1'000'000;
  Trace trace;
  Attribution attribution;
  const auto add_wait = [&](std::uint32_t thread, TimeSpan span) {
    HostWait one;
    one.thread = ThreadId{thread};
    one.span = span;
    trace.host_waits.push_back(one);
  };
  for (int step = 0; step < 10; ++step) {
    const Nanoseconds begin_ns = step * 10 * kMs, end_ns = begin_ns + 10 * kMs;
    for (std::uint32_t thread = 1; thread <= 2; ++thread) {
      const Nanoseconds from_ns = begin_ns + (thread - 1) * 4 * kMs;
      for (int i = 0; i < 40; ++i) {
        Launch launch;
        launch.thread = ThreadId{thread};
        launch.span = {from_ns + i * kMs / 10, from_ns + i * kMs / 10 + 5'000};
        trace.launches.push_back(launch);
      }
    }
    add_wait(1, {begin_ns + 4 * kMs, begin_ns + 8 * kMs});
    add_wait(2, {begin_ns, begin_ns + 4 * kMs});
    add_wait(2, {begin_ns + 8 * kMs, end_ns});
    add_wait(3, {begin_ns, end_ns});  // this thread launches nothing
    const TimeSpan last = {begin_ns + 8 * kMs, end_ns};
    if (wait == Wait::kSleep) add_wait(1, last);
    if (wait == Wait::kCall || wait == Wait::kFullQueueAtMemset || wait == Wait::kPageableCopy) {
      Call call;
      call.thread = ThreadId{1};
      call.span = last;
      if (wait == Wait::kFullQueueAtMemset) call.category = ApiCategory::kMemset;
      if (wait == Wait::kPageableCopy) {
        call.category = ApiCategory::kCopyAsync;
        call.source_memory = MemoryKind::kPageable;
      }
      trace.calls.push_back(call);
      attribution.judgements.push_back({});
      const bool blocks = wait == Wait::kCall && step % 2 == 0;
      attribution.judgements.back().verdict = blocks ? Verdict::kBlocked : Verdict::kReturnedAtOnce;
    }
    if (wait == Wait::kPoll) {
      Poll poll;
      poll.thread = ThreadId{1};
      poll.span = last;
      poll.not_ready_count = 3;
      trace.polls.push_back(poll);
    }
    if (wait == Wait::kFullQueue) {
      Launch launch;
      launch.thread = ThreadId{1};
      launch.span = last;
      trace.launches.push_back(launch);
    }
    Step one;
    one.host = {begin_ns, end_ns};
    one.kind = step == 0 ? StepKind::kWarmUp : StepKind::kSteady;
    attribution.steps.steps.push_back(one);
  }
  return host_busy_ns(trace, attribution) / kMs;
}

TEST_CASE("a host is busy while one of its threads that launch is in no wait") {
  CHECK(busy_of(Wait::kNone) == 90);
  CHECK(busy_of(Wait::kSleep) == 72);
  CHECK(busy_of(Wait::kCall) == 82);  // four of nine calls waited
  CHECK(busy_of(Wait::kPoll) == 72);
  CHECK(busy_of(Wait::kFullQueue) == 72);
  CHECK(busy_of(Wait::kFullQueueAtMemset) == 72);
  CHECK(busy_of(Wait::kPageableCopy) == 90);  // the host itself copies
}

}  // namespace
}  // namespace synctrace::testing::host_pace_test
