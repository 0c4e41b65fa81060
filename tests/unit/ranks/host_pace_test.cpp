// SPDX-License-Identifier: Apache-2.0
#include "ranks/host_pace.h"

#include <cmath>
#include <vector>

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

}  // namespace
}  // namespace synctrace::testing::host_pace_test
