// SPDX-License-Identifier: Apache-2.0
// A trace as it comes from its file, with what loading it has found out already.
#pragma once

#include <optional>

#include "model/outstanding.h"
#include "model/trace.h"

namespace synctrace {

struct LoadedTrace {
  Trace trace;
  std::optional<Joins> joins;  // made for the check of the clocks; nothing where that check has shifted times
};

}  // namespace synctrace
