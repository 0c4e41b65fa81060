// SPDX-License-Identifier: Apache-2.0
// Loops inside of a step in which Python takes one item after the other, and reads the GPU for each. Where it launches
// kernels for each too, or only these, one operation on all items does the same; else one copy in front of the loop.
// Where a read ends the loop, it can be made in every tenth turn.
#pragma once

#include <cstddef>
#include <unordered_map>
#include <vector>

#include "base/shares.h"
#include "findings/calls/stack_places.h"
#include "findings/remedies/loop_of_function.h"
#include "findings/report/steps.h"
#include "model/trace.h"

namespace synctrace {

class HostLoops {
 public:
  struct AtPlace {
    const HostLoop* loop = nullptr;  // null: no loop's
    Share part = {0, 1};             // how much of the work there is the loop's
  };

  // `steps`: the loop around; without its count there is none inside.
  HostLoops(const Trace& trace, const DoneInRun& run, const StackPlaces& places, const StepsReport& steps);

  // The loop whose turns make up that place, or most of the backward that runs there.
  AtPlace at(StackPlace place) const;

 private:
  struct Part {
    std::size_t loop = 0;
    Share part = {1, 1};
  };
  std::vector<HostLoop> loops_;
  std::unordered_map<StackPlace, Part> of_places_;
};

}  // namespace synctrace
