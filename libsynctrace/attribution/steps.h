// SPDX-License-Identifier: Apache-2.0
// The program's steps: what repeats. Found, in this order, by a range of the given name, `ProfilerStep#n`, another NVTX
// range that repeats, the back edge of the loop in the stacks of the thread that launches, or the period of the work
// issued. Step i lasts on the host from its begin to the next one's; GPU work belongs to the step that issued it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/correlate.h"
#include "model/trace.h"

namespace synctrace {

enum class StepSource : std::uint8_t { kNone, kNvtx, kProfilerStep, kLoop, kPeriodicity };
std::string_view step_source_name(StepSource source) noexcept;  // "nvtx", "profiler-step", "python-loop"...

enum class Phase : std::uint8_t { kOutside, kWarmUp, kSteady, kIrregular };

struct Step {
  TimeSpan host;
  Nanoseconds done_ns = 0;    // the end of the last work that it issued
  Nanoseconds length_ns = 0;  // from the end of the last step's work to the end of its own
  Phase phase = Phase::kSteady;
};

struct Steps {
  StepSource source = StepSource::kNone;
  std::string name;         // of the range, or of the function that loops
  std::vector<Step> steps;  // disjoint, in order

  // Of the step that issued something at t. `cursor` is of use where times come about in order (search_from.h).
  Phase phase_at(Nanoseconds t, std::size_t& cursor) const;
};

// `range`: the name of the NVTX range that is a step; empty: find out.
Steps find_steps(const Trace& trace, const Correlation& correlation, std::string_view range = {});

// Lengths of all steps but the warm-up. Zero without steps.
struct StepFigures {
  std::size_t count = 0;
  std::size_t irregular = 0;
  std::size_t warm_up = 0;
  Nanoseconds mean_ns = 0;
  Nanoseconds p50_ns = 0;
  Nanoseconds p99_ns = 0;
};
StepFigures figures_of(const Steps& steps);

}  // namespace synctrace
