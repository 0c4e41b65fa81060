// SPDX-License-Identifier: Apache-2.0
// What stays where a compiler puts launches into a graph. PyTorch still checks its guards, hands over every parameter
// and takes every gradient; kernels that go element by element become few, which read and write less.
#pragma once

#include "base/shares.h"
#include "base/time_span.h"

namespace synctrace {

struct CompiledCalls {
  ShareRange kept = {{0, 1}, {0, 1}, {0, 1}};  // part of the host time in the launches and between them
  Nanoseconds each_step = 0;                   // host time, once in each step
  ShareRange fused;                            // part of the length of kernels that become one with others
};

}  // namespace synctrace
