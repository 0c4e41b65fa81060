// SPDX-License-Identifier: Apache-2.0
// One loop may be found as two: a text grows, and from some length on a library takes other kernels for it.
#pragma once

#include <vector>

#include "steps/step_search.h"

namespace synctrace {

// Two loops are one where stacks show the same lines of one function, called from the same place, their steps are of
// about as many items with something in common, and the one goes straight over into the other.
std::vector<FoundLoop> join_loops(std::vector<FoundLoop> loops, const StepItems& items, StepLooks& looks);

}  // namespace synctrace
