// SPDX-License-Identifier: Apache-2.0
// All levels at which what a program issued could be cut into steps, the finest first: layers, batches, steps, log
// intervals, epochs. Each kind of item could mark one; those that come in turn mark the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "steps/step_level.h"

namespace synctrace {

using StepCuts = std::vector<std::size_t>;  // items at which pieces begin

class StepLevels {
 public:
  // Both must outlive the object.
  StepLevels(const StepItems& items, const std::vector<ItemRange>& ranges);

  const std::vector<StepLevel>& all() const noexcept { return levels_; }
  const StepItems& items() const noexcept { return items_; }
  const StepCuts& places(std::uint32_t kind) const { return places_[kind]; }  // all items of a kind
  const StepCuts& optimizers() const noexcept { return optimizers_; }         // where one begins its work
  StepCutter& cutter() noexcept { return cutter_; }

  // Whether they are enough, come in runs, and do a part of the work that counts.
  bool are_steps(const StepLevel& level) const;
  // Kernels and graphs outside of optimizers' steps.
  std::size_t work_in(ItemRange range) const { return work_before_[range.end] - work_before_[range.begin]; }
  std::size_t kinds_in(ItemRange range) const;
  // The same for the steps that begin in the range.
  std::size_t kinds_in(const std::vector<ItemRange>& steps, ItemRange range) const;

 private:
  void find_exchanges(const std::vector<ItemRange>& ranges);
  void find();
  void drop_doubles();
  bool hold_optimizers(const StepLevel& level) const;

  const StepItems& items_;
  StepCutter cutter_;
  std::vector<StepCuts> places_;  // by kind
  StepCuts optimizers_;
  std::vector<StepCuts> exchanges_behind_;  // the same items before each
  std::vector<std::uint32_t> work_before_;
  std::vector<StepLevel> levels_;
};

}  // namespace synctrace
