// SPDX-License-Identifier: Apache-2.0
// Finds which loop in the issued work is that of the program's steps, phase by phase.
//
// Each kind of item could mark the begin of a step; those that come as often as each other, in turn, mark the same
// level. The finest level with alike pieces that does the whole of the recurring work is taken: where an optimizer
// runs, one with its work in each piece; else one in which the host exchanges something with the GPU; but not one that
// is part of another, as the layers of a model are of a step. A coarser level (a log interval, an epoch) is never taken
// where a finer one will do. The items that it leaves over are searched again: validation is a loop of its own.
#pragma once

#include <vector>

#include "steps/step_items.h"
#include "steps/step_looks.h"

namespace synctrace {

struct FoundLoop {
  std::vector<ItemRange> steps;  // ascending, disjoint
  std::size_t micro_steps = 1;   // passes of the loop in one step
  double likeness = 0;           // mean of the steps, 1 for the same items
  bool is_by_log = false;        // each may be as many steps, behind which a line is logged
  bool is_marked = false;        // an optimizer, or an exchange with the host, is in each
};

// In the order in which they were found; the ranges of no two overlap.
std::vector<FoundLoop> find_loops(const StepItems& items, StepLooks& looks);

}  // namespace synctrace
