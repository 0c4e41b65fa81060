// SPDX-License-Identifier: Apache-2.0
// What one level of steps is to another: the layers of a model to a step, a batch to an optimizer's step.
#pragma once

#include "steps/step_levels.h"
#include "steps/step_looks.h"

namespace synctrace {

class StepNesting {
 public:
  // Both must outlive the object.
  StepNesting(StepLevels& levels, StepLooks& looks) : levels_(levels), items_(levels.items()), looks_(looks) {}

  // Its steps are parts of those of another level, as the layers of a model are: the host exchanges nothing with them,
  // and the step does more than them.
  bool is_inner(const StepLevel& level);

  // Nothing is given to the GPU in them, and as many lie in each step of another level, which does more: layers that
  // read back what they have computed. Iterations until something converges are of another number each time.
  bool reads_in_parts(const StepLevel& level);

  // Each is like the next but one and unlike the next: two models that take turns, two halves of a layer.
  bool take_turns(const StepLevel& level);

  // The loop over batches that runs several times in each of an optimizer's steps. Null: there is none.
  const StepLevel* passes_of(const StepLevel& level);

  // Where no optimizer is known by its name: what is done once in a few passes, without an exchange with the host, is
  // done with what they added up. Null: there is none.
  const StepLevel* group_of(const StepLevel& passes);

 private:
  struct Inside {
    std::size_t passes = 0;   // of the finer loop, in a coarser step, in the middle
    std::size_t at_most = 0;  // and in the mean, rounded up
    std::size_t more = 0;     // kernels of the coarser step outside of them, in the middle
    double covered = 0;       // the share of its kernels inside them
  };

  Inside inside(const StepLevel& fine, const StepLevel& coarse) const;
  bool is_one_more(const StepLevel& level, const StepLevel& outer, std::size_t passes) const;
  bool has_parts(const StepLevel& level) const;
  bool is_aside(const StepLevel& level) const;
  static bool is_in(const StepCuts& places, const std::vector<ItemRange>& steps, double share);
  bool adds_work(const StepLevel& pass, const StepLevel& step, double at_most = 1e9) const;
  bool has_other_loop(const StepLevel& level, const StepLevel& passes);

  StepLevels& levels_;
  const StepItems& items_;
  StepLooks& looks_;
};

}  // namespace synctrace
