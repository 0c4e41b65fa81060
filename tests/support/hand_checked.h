// SPDX-License-Identifier: Apache-2.0
// The program whose times were worked out by hand: a kernel, a wait, 20 us of host time, a kernel. With a second wait
// behind the first one, only both together cost anything.
#pragma once

#include <cstdint>
#include <vector>

#include "support/generated_support.h"

namespace synctrace::testing::generator {

inline Program hand_checked(bool second_wait) {
  Program program;
  program.machine.launch_ns = 5'000;
  program.machine.latency_ns = 4'000;
  program.machine.return_ns = 6'000;
  program.machine.sync_ns = 2'000;
  program.stream_devices = {0};
  for (std::uint32_t line = 1; line <= 5; ++line) program.places.push_back({0, line});
  std::vector<Action> script = {{Act::kLaunch, 0, 0, 100'000}, {Act::kStreamSync, 1}};
  if (second_wait) script.push_back({Act::kStreamSync, 2});
  script.push_back({Act::kCompute, 3, 20'000});
  script.push_back({Act::kLaunch, 4, 0, 50'000});
  program.threads = {script};
  return program;
}

}  // namespace synctrace::testing::generator
