// SPDX-License-Identifier: Apache-2.0
// Spans of the CPU's counter become the time that CLOCK_MONOTONIC shows.
#include "capture/process/cpu_ticks.h"

#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "support/catch.h"

using namespace synctrace::capture;

namespace {

void pass(std::int64_t span_ns) {
  const std::int64_t end_ns = now_ns() + span_ns;
  while (now_ns() < end_ns) {
  }
}

}  // namespace

TEST_CASE("a moment in ticks is the moment in nanoseconds") {
  TickClock clock;
  clock.start();
  // However long ago: a moment is known as well as the two readings around it.
  for (const std::int64_t span_ns : {100'000, 1'000'000, 20'000'000}) {
    const TickMoment then = read_tick_moment();
    pass(span_ns);
    const std::int64_t told_ns = clock.time_of(then.ticks, read_tick_moment());
    // Two readings of two clocks, each up to a microsecond apart on a busy machine; a wrong rate would be far off.
    CHECK(std::llabs(told_ns - then.time_ns) < 20'000);
  }
}

TEST_CASE("a span of time is that many ticks") {
  TickClock clock;
  clock.start();
  pass(2'000'000);
  const TickMoment begin = read_tick_moment();
  const std::uint64_t ticks = clock.ticks_of(10'000'000);
  pass(10'000'000);
  const TickMoment end = read_tick_moment();
  const double rate = static_cast<double>(end.ticks - begin.ticks) / static_cast<double>(end.time_ns - begin.time_ns);
  CHECK(std::abs(static_cast<double>(ticks) / (rate * 1e7) - 1) < 0.02);
}

TEST_CASE("ticks of the future are now") {
  TickClock clock;
  clock.start();
  pass(100'000);
  const TickMoment now = read_tick_moment();
  CHECK(clock.time_of(now.ticks + 1000, now) == now.time_ns);
}
