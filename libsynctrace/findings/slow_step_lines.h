// SPDX-License-Identifier: Apache-2.0
// The line of what slow steps do and the others do not. Host code without a sample is known by the lines before and
// behind it only, which each step has.
#pragma once

#include <set>
#include <string_view>
#include <vector>

#include "findings/slow_steps.h"

namespace synctrace {

// One doing of the host in slow steps, before those at one line are joined.
struct SlowDoing {
  SlowStepCause cause;
  StackPlace until{};     // behind it; none: `cause.place` is its own
  StackId until_stack{};  // one that shows it
  bool is_extra = false;  // nearly all of it is more than ordinary steps do there
};

// Host code before a line that slow steps alone come to is that line's. So is what lies between two usual lines, where
// a sample of another slow step shows a line between them. `usual`: places that ordinary steps come to; `loop`: the
// function that loops.
void move_to_rare_lines(const StackPlaces& places, const std::set<StackPlace>& usual, std::string_view loop,
                        std::vector<SlowDoing>& doings);

}  // namespace synctrace
