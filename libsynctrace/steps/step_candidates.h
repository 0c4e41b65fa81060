// SPDX-License-Identifier: Apache-2.0
// Ways to find a program's steps, each by other evidence. None invents steps: what does not repeat clearly gives none.
#pragma once

#include <string_view>
#include <vector>

#include "steps/steps.h"

namespace synctrace {

// The share of the GPU's work that was issued inside the spans (disjoint, in order), on whatever thread; 1 without any
// work. What repeats need not be the program's work: a compiler's ranges, the loading of data, the moving of parameters
// to the device repeat as well. Looks at no more than some thousand operations.
double share_issued_in(const std::vector<TimeSpan>& spans, const Correlation& correlation);

// NVTX ranges of one name (digits left out) on one thread that do not overlap. They span at least half of the time in
// which work was issued and hold the issue of half of it, or they hold nine tenths of it however short they are. The
// outermost of several such names is taken. With `range`, ranges of that very name. Without lengths.
Steps steps_by_ranges(const Trace& trace, const Correlation& correlation, std::string_view range);

// A step begins each time that a thread comes to the line: its calls and launches with stacks show it there, after
// others showed it elsewhere in that function, or at an earlier instruction. Without lengths.
Steps steps_by_line(const Trace& trace, std::string_view file, std::uint32_t line);

// Adds ends, lengths, the warm-up and what is irregular.
void measure_steps(const Trace& trace, const Correlation& correlation, Steps& steps);

}  // namespace synctrace
