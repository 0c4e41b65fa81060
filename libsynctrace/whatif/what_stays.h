// SPDX-License-Identifier: Apache-2.0
// What stays of a site's work when its fix is made. Where a compiler makes a graph, PyTorch still checks its guards,
// hands over every parameter and takes every gradient, and kernels that go element by element become few. Where the
// turns of a loop become one operation, that operation stays, and in backward what is not the loop's.
#pragma once

#include "base/shares.h"

namespace synctrace {

inline constexpr ShareRange kNothingStays = {{0, 1}, {0, 1}, {0, 1}};

struct WhatStays {
  ShareRange host = kNothingStays;  // part of the host time in the calls and between them
  ShareRange gpu;                   // part of the length of the kernels
  bool is_compiled = false;         // so `gpu` is of kernels that become one with others alone
};

}  // namespace synctrace
