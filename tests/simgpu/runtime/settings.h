// SPDX-License-Identifier: Apache-2.0
//
// What the environment asks of the simulated runtime (SIMGPU_*; the list is in ../README.md).
// Read once, at the first API call of the process; immutable afterwards.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/clock.h"

namespace synctrace::simgpu {

struct Settings {
  int devices = 1;
  Nanoseconds kernel_ns = 2000;
  Nanoseconds launch_ns = 2500;
  Nanoseconds init_ns = kMillisecond;
  double pageable_gbps = 10;
  double pinned_gbps = 50;

  // SIMGPU_FAIL=function:nth:code; an empty function means that nothing fails.
  std::string failing_function;
  std::uint64_t failing_call = 1;
  int failing_code = 0;

  // SIMGPU_HOLD=function:nth:file; an empty function means that nothing waits.
  std::string held_function;
  std::uint64_t held_call = 1;
  std::string hold_file;
};

const Settings& settings();

// The error that SIMGPU_FAIL asks of this call of `function`, or 0. Counts the calls.
int injected_failure(const char* function);

// Waits until the file of SIMGPU_HOLD is there, where it names this call of `function` or an earlier one. Counts the
// calls.
void hold_call(const char* function);

}  // namespace synctrace::simgpu
