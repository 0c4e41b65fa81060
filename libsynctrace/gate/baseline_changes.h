// SPDX-License-Identifier: Apache-2.0
// How a baseline comes about and follows the program. Nothing new gets in but by `create`, or where it is asked for: a
// baseline that absorbs what it should catch is worth nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gate/baseline.h"
#include "gate/gate.h"

namespace synctrace {

enum class BaselineVerb : std::uint8_t {
  kCreate,  // all that was found
  kUpdate,  // entries follow renamed files and falling counts; new ones only if `accept_new`
  kPrune,   // entries that were not found go, and nothing else changes
};

struct BaselineChange {
  Baseline result;
  std::vector<BaselineEntry> refused;  // new, or more calls a step than before
  std::size_t added = 0;
  std::size_t dropped = 0;
  std::size_t changed = 0;
};

// The findings that a baseline may hold: new ones outside of zones.
std::vector<BaselineEntry> entries_of(const GateResult& result);

// `found` was judged without a baseline.
BaselineChange change_baseline(BaselineVerb verb, const Baseline& before, const GateResult& found, bool accept_new,
                               const Repository& repository);

}  // namespace synctrace
