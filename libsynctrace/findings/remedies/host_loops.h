// SPDX-License-Identifier: Apache-2.0
// Loops inside of a step in which Python takes one item after the other, and reads the GPU for each. Where it launches
// kernels for each too, one operation on all items does the same; else one copy in front of the loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "findings/calls/stack_places.h"
#include "findings/report/steps.h"
#include "model/trace.h"

namespace synctrace {

struct HostLoop {
  std::string file;
  std::string function;  // in which the lines are
  std::uint32_t first_line = 0;
  std::uint32_t last_line = 0;
  std::uint64_t turns = 0;          // in a step
  bool computes = false;            // a turn launches; else it only reads, and only its reads go
  bool is_most_of_forward = false;  // so backward is mostly that of its turns
};

class HostLoops {
 public:
  // `places` must outlive the call alone. `steps`: the loop around; without its count there is none inside.
  HostLoops(const Trace& trace, StackPlaces& places, const StepsReport& steps);

  // The loop whose turns make up that place; null: none.
  const HostLoop* of(StackPlace place) const;
  // The loop of which backward mostly is; null: none.
  const HostLoop* of_backward() const;

 private:
  std::vector<HostLoop> loops_;
  std::unordered_map<StackPlace, std::size_t> of_places_;
};

}  // namespace synctrace
