// SPDX-License-Identifier: Apache-2.0
// Times of events are those of CLOCK_MONOTONIC, never go back, and survive a change of the rate by what is promised.
#include "capture/event_clock.h"

#include <algorithm>
#include <cstdint>
#include <thread>
#include <vector>

#include "capture/clocks.h"
#include "support/catch.h"

using namespace synctrace::capture;

namespace {

constexpr std::int64_t kRunNs = 30'000'000;

struct Seen {
  bool went_back = false;
  std::uint64_t reads = 0;
  std::vector<std::int64_t> distances_ns;  // from the interval that two readings of CLOCK_MONOTONIC leave for the event
};

Seen watch() {
  Seen seen;
  seen.distances_ns.reserve(2'000'000);
  std::int64_t last_ns = 0;
  const std::int64_t end_ns = now_ns() + kRunNs;
  while (now_ns() < end_ns && seen.distances_ns.size() < seen.distances_ns.capacity()) {
    const std::int64_t before_ns = now_ns();
    const std::int64_t time_ns = event_time_ns();
    const std::int64_t after_ns = now_ns();
    seen.went_back = seen.went_back || time_ns < last_ns;
    last_ns = time_ns;
    ++seen.reads;
    seen.distances_ns.push_back(std::max({before_ns - time_ns, time_ns - after_ns, std::int64_t{0}}));
  }
  return seen;
}

void check(Seen& seen) {
  REQUIRE(seen.reads > 100);
  CHECK_FALSE(seen.went_back);
  // A millisecond at a rate that is 0.05 % off, and the reading itself. The largest few may have lost the CPU in between.
  std::sort(seen.distances_ns.begin(), seen.distances_ns.end());
  CHECK(seen.distances_ns[seen.distances_ns.size() * 99 / 100] < 1'000);
}

}  // namespace

TEST_CASE("before the clock is started it is the clock of the system") {
  Seen seen = watch();
  check(seen);
  CHECK(seen.distances_ns.back() == 0);
}

TEST_CASE("the time of an event lies between two readings of the clock") {
  TickClock().start();
  start_event_clock();
  Seen here = watch();
  check(here);
  Seen there;
  std::thread([&] { there = watch(); }).join();
  check(there);
}
