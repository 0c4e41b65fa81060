// SPDX-License-Identifier: Apache-2.0
// Where the steps of a level begin. Any item that comes once in each step tells how many there are; cut at the right
// one, the first and the last of each run are whole too.
#pragma once

#include "steps/step_levels.h"

namespace synctrace {

class StepBegins {
 public:
  // Must outlive the object.
  explicit StepBegins(StepLevels& levels) : levels_(levels) {}

  // The same steps, cut where they begin: so cut, most are whole, the one before a validation or the end included.
  StepLevel turned(const StepLevel& level);

  // Steps from the first pass behind one mark (an optimizer's work) to that behind the next; `count`: passes in a step,
  // 1 where each step has another number of them.
  StepLevel by_passes(const StepLevel& level, const StepLevel& passes, const StepCuts& marks, std::size_t& count);

  // Each step ends with a mark, whatever number of these passes it has.
  StepLevel by_marks(const StepLevel& passes, const StepCuts& marks);

  // The same steps, two by two.
  StepLevel in_pairs(const StepLevel& level);

 private:
  StepLevel shifted(const StepLevel& level);
  double likeness_of_rarer_sort(const StepLevel& level);
  std::size_t torn_off(const StepLevel& level);
  std::size_t torn_at(const StepLevel& level, bool is_end);

  StepLevels& levels_;
};

}  // namespace synctrace
