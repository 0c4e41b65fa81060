// SPDX-License-Identifier: Apache-2.0
// One way to cut what a program issued into steps: at given items, each the first of a step. Pieces that are like the
// typical one are steps. Where a piece goes on with something else (validation, a checkpoint), its begin alone is one.
#pragma once

#include <cstddef>
#include <vector>

#include "steps/step_items.h"

namespace synctrace {

struct StepLevel {
  std::vector<std::size_t> cuts;  // the items that begin pieces, ascending
  std::vector<ItemRange> steps;   // ascending, disjoint
  ItemRange typical;              // one of them, of median size
  double likeness = 0;            // mean of the steps to the typical one: 1 for the same kinds as often
  std::size_t taken = 0;          // the steps that were looked at for themselves,
  double likeness_sum = 0;        // and how alike they are, added up
  std::size_t exact = 0;          // steps that are as like as can be expected
  double touching = 0;            // the share of steps that end where the next one begins
  double share = 0;               // the steps' share of the items, the time or the GPU's work, the largest of these
  double exchanging = 0;          // the share of steps in which the host exchanges something with the GPU
  double optimizing = 0;          // the same for an optimizer that begins its work
  std::size_t work = 0;           // kernels and graphs of the typical step
  bool is_varied = false;         // the typical step is a graph, or more than one kind of item
};

class StepCutter {
 public:
  // `ranges`: ascending, disjoint; a step lies in one of them. Both must outlive the object.
  StepCutter(const StepItems& items, const std::vector<ItemRange>& ranges);

  // False when pieces next to each other differ so much that they cannot be steps. Looks at a few of them.
  bool may_be_steps(const std::vector<std::size_t>& cuts);

  // `cuts`: items of the ranges, ascending. `typical`: what a step has to be like; empty: find out.
  StepLevel cut(std::vector<std::size_t> cuts, ItemRange typical = {});

  // The same of steps that are known, however unlike they are.
  StepLevel of(std::vector<ItemRange> steps);

  // 1 for the same kinds as often, 0 for nothing in common.
  double likeness(ItemRange a, ItemRange b);

  // Whether both have about as many items, and something in common.
  bool are_kin(ItemRange step, ItemRange typical);

  // Whether a range ends there: nothing is known behind it, or it belongs to another loop.
  bool ends_range(std::size_t end) const;
  bool begins_range(std::size_t begin) const;

 private:
  struct Piece {
    ItemRange range;
    bool is_last = false;  // the last of its range: nothing tells where it ends
  };
  std::vector<Piece> pieces_of(const std::vector<std::size_t>& cuts) const;
  ItemRange typical_of(const std::vector<Piece>& pieces);
  // The step that a piece begins with.
  struct Taken {
    ItemRange step;
    double likeness = 0;   // 0: none
    bool goes_on = false;  // with other work
  };
  Taken take(const Piece& piece, ItemRange typical);
  bool lacks_little(ItemRange step, ItemRange typical);
  void measure(StepLevel& level) const;

  const StepItems& items_;
  const std::vector<ItemRange>& ranges_;
  // Sums of items, times and work.
  struct Amounts {
    double items = 0;
    double time_ns = 0;
    double busy_ns = 0;
  };
  void add(ItemRange range, Amounts& amounts) const;

  Amounts all_;
  std::vector<std::int32_t> balance_;  // all zero between calls
};

}  // namespace synctrace
