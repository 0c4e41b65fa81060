// SPDX-License-Identifier: Apache-2.0
// What changes of kernels save, among the changes of the host's code.
#pragma once

#include <vector>

#include "whatif/bounds.h"
#include "whatif/what_if.h"

namespace synctrace {

// The gain of a later saving over an earlier one.
Interval more(const Interval& before, const Interval& after);

// Puts the changes among `groups`, which keep their order: next comes what adds most to those before it, by its weight.
// What all save together is replayed again from the first of them on, because fast kernels make the host's time count.
// Where several change the same kernels, the one counts that takes most away. Where a group and a change of kernels are
// the same change of the program, the one that saves more stays.
void add_kernel_changes(const std::vector<KernelChange>& changes, const ReplayProgram& program, const Bounds& bounds,
                        std::vector<FixGroup>& groups);

// What some of the groups save without the others.
std::vector<GroupSet> group_sets(const std::vector<KernelChange>& changes, const ReplayProgram& program,
                                 const Bounds& bounds, const std::vector<FixGroup>& groups,
                                 std::vector<std::vector<std::size_t>> sets);

}  // namespace synctrace
