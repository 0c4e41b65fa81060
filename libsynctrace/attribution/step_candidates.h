// SPDX-License-Identifier: Apache-2.0
// Three ways to find a program's steps, each by other evidence. None invents steps: what does not repeat clearly gives
// none. Each costs O(n log n) at most in the records that it looks at.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "attribution/steps.h"

namespace synctrace {

inline constexpr std::size_t kFewestSteps = 3;

struct StepCandidates {
  StepSource source = StepSource::kNone;
  std::string name;
  std::vector<TimeSpan> steps;  // disjoint, in order
};

// The share of the GPU's work that was issued inside the spans (disjoint, in order), on whatever thread; 1 without any
// work. What repeats need not be the program's work: a compiler's ranges, the loading of data, the moving of parameters
// to the device repeat as well. Looks at no more than some thousand operations.
double share_issued_in(const std::vector<TimeSpan>& spans, const Correlation& correlation);

// NVTX ranges of one name (digits left out) on one thread that do not overlap, span at least half of the time in which
// work was issued, and hold the issue of half of it, or of nine tenths of it however short they are; of several such
// names the outermost. With `range`, ranges of that very name.
StepCandidates steps_by_ranges(const Trace& trace, const Correlation& correlation, std::string_view range);

// The stacks of the thread with the most: where a frame common to all of them goes back to an earlier line, again and
// again, with about the same lines between, and half of the work is issued there.
StepCandidates steps_by_loop(const Trace& trace, const Correlation& correlation);

// Work issued again and again in the same order.
StepCandidates steps_by_period(const Trace& trace, const Correlation& correlation);

}  // namespace synctrace
