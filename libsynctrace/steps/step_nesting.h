// SPDX-License-Identifier: Apache-2.0
// How one level of steps lies in another: the layers of a model in a step, batches in an optimizer's step.
#pragma once

#include "base/shares.h"
#include "steps/step_levels.h"
#include "steps/step_looks.h"

namespace synctrace {

class StepNesting {
 public:
  // Both must outlive the object.
  StepNesting(StepLevels& levels, StepLooks& looks) : levels_(levels), items_(levels.items()), looks_(looks) {}

  // Whether its steps are parts of those of another level, as the layers of a model are: the host exchanges nothing
  // with them, and the step does more than them.
  bool is_inner(const StepLevel& level);

  // The loop whose steps are made of these, about as many in each: many of its steps, each with work that no part does,
  // or with parts that take turns. Null: there is none.
  const StepLevel* whole_of(const StepLevel& level);

  // Whether each is like that so many passes later and unlike the next: two models that take turns, two halves of a
  // layer.
  bool take_turns(const StepLevel& level, std::size_t passes = 2);

  // The loop over batches that runs several times in each of an optimizer's steps. Null: there is none.
  const StepLevel* passes_of(const StepLevel& level);

  // The groups of passes, for an optimizer that no name tells: its kernels run once in a few passes, without an
  // exchange with the host, on the gradients that these added up. Null: there is none.
  // `by_log`: becomes whether something is read with them, as for a line of the log.
  const StepLevel* group_of(const StepLevel& passes, bool& by_log);

 private:
  struct Inside {
    std::size_t passes = 0;   // passes of the finer loop in the median coarser step
    std::size_t at_most = 0;  // the same in the mean, rounded up
    std::size_t more = 0;     // kernels outside of them in the median coarser step
    double covered = 0;       // the share of its kernels inside them
  };

  struct Turns {  // how many of the steps looked at are
    std::size_t looks = 0;
    std::size_t more_alike = 0;   // more like that some passes later than like the next
    std::size_t equal_next = 0;   // equal to the next
    std::size_t exact_next = 0;   // the same, with nothing that differs
    std::size_t equal_again = 0;  // equal to that some passes later
  };

  Inside inside(const StepLevel& fine, const StepLevel& coarse) const;
  bool is_one_more(const StepLevel& level, const StepLevel& outer, std::size_t passes) const;
  bool has_parts(const StepLevel& level) const;
  bool do_same_work(ItemRange a, ItemRange b) const;
  Turns turns_of(const StepLevel& level, std::size_t passes);
  bool differ(const StepLevel& level, const StepLevel& outer, std::size_t passes);
  bool are_other_parts(const StepLevel& level, const StepLevel& outer, std::size_t passes);
  bool is_aside(const StepLevel& level) const;
  static bool is_in(const StepCuts& places, const std::vector<ItemRange>& steps, Share share);
  bool adds_work(const StepLevel& pass, const StepLevel& step, double at_most = 1e9) const;
  bool adds_regularly(const StepLevel& pass, const StepLevel& step) const;
  bool feeds(const StepLevel& level, const StepLevel& outer, std::size_t passes);
  bool has_other_loop(const StepLevel& level, const StepLevel& passes);
  bool has_other_inputs(const StepLevel& passes, const StepLevel& outer) const;
  bool gives(const StepLevel& level) const;

  StepLevels& levels_;
  const StepItems& items_;
  StepLooks& looks_;
};

}  // namespace synctrace
