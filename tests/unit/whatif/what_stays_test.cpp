// SPDX-License-Identifier: Apache-2.0
// What stays of launches that a compiler puts into a graph.
#include "whatif/what_stays.h"

#include "replay_scene.h"
#include "support/catch.h"

namespace synctrace::testing {

TEST_CASE("a graph that a compiler makes keeps a part of the host time, and its fused kernels get shorter") {
  ReplayScene scene;
  for (Nanoseconds now_ns = kMs; now_ns < 2 * kMs; now_ns += 50 * kUs) {
    scene.launch({now_ns, now_ns + 10 * kUs}, {now_ns + 12 * kUs, now_ns + 52 * kUs});
    scene.trace().launches.back().stack = StackId{5};
  }
  ReplayProgram program = scene.program();
  REQUIRE(program.sites[1].fix == Fix::kGraph);
  const auto end_ns = [&] { return fixed_in_lane_1(program).latest.at[1]; };
  const Nanoseconds captured_ns = end_ns();
  program.sites[1].stays.is_compiled = true;
  CHECK(end_ns() == captured_ns);
  program.sites[1].stays.host.usual = percent(90);  // then the host is slower than the kernels
  const Nanoseconds slow_ns = end_ns();
  CHECK(slow_ns > captured_ns);
  program.sites[1].stays.host.usual = percent(0);
  program.sites[1].stays.gpu.usual = percent(50);
  CHECK(end_ns() == captured_ns);  // a kernel of an unknown name is not fused
  program.kernels.push_back({.kind = KernelKind::kPointwise});
  for (const ReplayEvent& head : program.events) {
    if (head.kind == EventKind::kLaunch) program.events.of<LaunchEvent>(head).kernel = 1;
  }
  CHECK(end_ns() <= captured_ns - 19 * 20 * kUs);
}

}  // namespace synctrace::testing
