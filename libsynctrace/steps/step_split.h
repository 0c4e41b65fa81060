// SPDX-License-Identifier: Apache-2.0
// Two loops may begin alike and be cut as one, as validation and sampling that run the same forward pass.
#pragma once

#include <vector>

#include "steps/step_items.h"
#include "steps/step_looks.h"

namespace synctrace {

// The steps as spans of time.
Steps steps_of(const StepItems& items, const std::vector<ItemRange>& steps);

// The parts of `ranges` that lie in none of `steps`. All ascending and disjoint.
std::vector<ItemRange> left_over(const std::vector<ItemRange>& ranges, const std::vector<ItemRange>& steps);

// If two kinds of steps alternate in runs and the stacks do not show a common loop, returns the more frequent kind;
// otherwise all steps.
std::vector<ItemRange> steps_of_one_loop(std::vector<ItemRange> steps, const StepItems& items, StepLooks& looks);

}  // namespace synctrace
