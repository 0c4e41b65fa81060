// SPDX-License-Identifier: Apache-2.0
// Kernels of a made-up program, each a millisecond long, with the launches that they come from.
#pragma once

#include "model/trace.h"

namespace synctrace::testing {

inline void run_kernels(const char* kernel, StackId stack, int count, Trace& trace) {
  const StringId name{static_cast<std::uint32_t>(trace.strings.size() + 1)};
  trace.strings[name] = kernel;
  for (int i = 0; i < count; ++i) {
    const Nanoseconds at_ns = static_cast<Nanoseconds>(trace.operations.size()) * 1'000'000;
    Launch& launch = trace.launches.emplace_back();
    launch.stack = stack;
    launch.span = {at_ns, at_ns + 1'000};
    launch.correlation = CorrelationId{static_cast<std::uint32_t>(trace.launches.size())};
    Operation& operation = trace.operations.emplace_back();
    operation.span = {at_ns + 1'000, at_ns + 1'001'000};
    operation.correlation = launch.correlation;
    operation.name = name;
  }
}

}  // namespace synctrace::testing
