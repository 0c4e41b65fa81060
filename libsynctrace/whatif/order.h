// SPDX-License-Identifier: Apache-2.0
// In which order fixes pay. Savings do not add up: of two waits one after the other, the second takes over what the
// first no longer waits, so that only both together gain; and two fixes that each make the GPU the limit gain once. So
// the order is found from both ends, by dropping from the full set whatever is missed least, and by adding whatever
// gains most, groups that hang together included; the one that gains earlier is taken.
#pragma once

#include <cstdint>
#include <vector>

#include "whatif/evaluate.h"

namespace synctrace {

// Wait that moves from one site to another when the first is fixed, as a share of what the first one waited.
struct Absorption {
  std::uint16_t from = 0;
  std::uint16_t to = 0;
  double share = 0;
};

// All of `candidates`, in the better order.
FixSet order_of(const Evaluator& evaluator, const FixSet& candidates, const std::vector<Absorption>& absorptions);

}  // namespace synctrace
