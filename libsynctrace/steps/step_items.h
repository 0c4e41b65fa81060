// SPDX-License-Identifier: Apache-2.0
// A row of plain numbers for the work that the program issued, in order: one item for each piece of GPU work and for
// each call that waits for the GPU. Loops are found in this row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/correlate.h"
#include "model/trace.h"
#include "steps/steps.h"

namespace synctrace {

// Items [begin, end).
struct ItemRange {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t size() const noexcept { return end - begin; }
  friend bool operator==(const ItemRange&, const ItemRange&) = default;
};

struct StepItems {
  enum Trait : std::uint8_t {
    kWork = 1,   // a kernel or a graph
    kGraph = 2,  // a graph
    kExchange =
        4,  // the host gives or takes data, or waits for the GPU: as a step does, and a layer of a model does not
    kOptimizer = 8,  // the first piece of work of an optimizer's step
    kAside = 16,     // issued by another thread than the process's first, as autograd's work is
    kUpdate = 32,    // a kernel of an optimizer's step, or between two of them
    kGiven = 64,     // the host gives data, as it does a batch
    kOfModel = 128,  // an exchange as well, but one that a model's own code makes
  };

  std::vector<std::uint32_t> kinds;      // stands for the kernel's name, a copy's direction and size class, or the call
  std::vector<Nanoseconds> times_ns;     // begin of the call that issued it,
  std::vector<std::uint32_t> lasted_ns;  // and how long that took, 4 seconds at the most
  std::vector<std::uint8_t> traits;
  std::vector<float> busy_ns;  // the GPU's time with it
  std::vector<std::uint32_t>
      sums;  // sums of a random number for each kind: ranges with equal sums have the same kinds as often
  std::size_t kind_count = 0;
  std::vector<ItemRange> ranges;  // recorded without a hole between: in one window, between given steps

  std::size_t size() const noexcept { return kinds.size(); }
  Nanoseconds end_ns(std::size_t item) const noexcept { return times_ns[item] + lasted_ns[item]; }
  // Equal for ranges with the same items, in whatever order.
  std::uint32_t sum_of(ItemRange range) const noexcept { return sums[range.end] - sums[range.begin]; }
  std::size_t count(ItemRange range, std::uint8_t trait) const noexcept;
};

// Without a timeline, the calls stand for the work. What the given steps issued is left out: an item that is in no
// range stands for them. O(n log n) in what is left.
StepItems step_items(const Trace& trace, const Correlation& correlation, const std::vector<Step>& given);

}  // namespace synctrace
