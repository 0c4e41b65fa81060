// SPDX-License-Identifier: Apache-2.0
// The program's steps: what repeats. Found, in this order, by a line that is given, a range of the given name,
// `ProfilerStep#n`, another NVTX range that repeats, or the innermost loop that does the recurring work. A program may
// have several phases (training, validation), each with steps of its own; the one with the most time is what a report
// is about. Step i lasts on the host from its begin to the next one's, or to the end of its own work's issue where
// something else follows. GPU work belongs to the step that issued it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_line.h"
#include "base/time_span.h"

namespace synctrace {

class Correlation;
struct Trace;

enum class StepSource : std::uint8_t { kNone, kNvtx, kProfilerStep, kLoop, kPeriodicity, kLine };
// How sure the steps are. kLow: something else may be the step; `doubt` says why.
enum class StepConfidence : std::uint8_t { kLow, kMedium, kHigh };
std::string_view step_confidence_name(StepConfidence confidence) noexcept;  // "low"...

std::string_view step_source_name(StepSource source) noexcept;  // "nvtx", "profiler-step", "python-loop"...

enum class StepKind : std::uint8_t { kOutside, kWarmUp, kSteady, kIrregular };

inline constexpr std::uint8_t kNoClass = 255;

struct Step {
  TimeSpan host;
  Nanoseconds done_ns = 0;    // the end of the last work that it issued
  Nanoseconds from_ns = 0;    // the begin of its time on the axis of the recording (run_times.h)
  Nanoseconds length_ns = 0;  // from the end of the last step's work to the end of its own
  StepKind kind = StepKind::kSteady;
  std::uint8_t of_class = kNoClass;  // index of Steps::classes
};

// The steps of one phase.
struct Steps {
  StepSource source = StepSource::kNone;
  std::string name;  // the range, or the function that loops
  FileLine where;    // the loop's line; 0: not known
  StepConfidence confidence = StepConfidence::kHigh;
  std::string doubt;                 // a clause; empty at high confidence
  std::size_t micro_steps = 1;       // passes of the loop in one step, where an optimizer runs once in several
  bool is_by_log = false;            // each pass may be a step, and a line is logged once in several
  std::vector<std::string> classes;  // by what their steps call, the most common first; empty: all are alike
  std::vector<Step> steps;           // disjoint, in order; between two of them may lie what belongs to no step

  // The kind of the step that issued something at t. `cursor` is of use where times come about in order
  // (search_from.h).
  StepKind kind_at(Nanoseconds t, std::size_t& cursor) const;
};

// A user's answer to what the steps are; empty: find out.
struct StepQuestion {
  std::string range{};    // the name of the NVTX range that is a step
  std::string line{};     // "FILE:LINE": a step begins whenever a thread comes there
  std::size_t phase = 0;  // the phase to report about, by time spent in it, from 1; 0: the first
};

// The steps of one phase and of the others, those with the most time first. `chosen` is empty where there is none, or
// not that one.
struct StepPhases {
  Steps chosen;
  std::vector<Steps> others;
};

StepPhases find_steps(const Trace& trace, const Correlation& correlation, const StepQuestion& question = {});

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

// The same for the steps of one class; without a class no figures.
struct ClassFigures {
  std::string name;
  std::size_t count = 0;
  Nanoseconds mean_ns = 0;
  Nanoseconds p50_ns = 0;
  Nanoseconds time_ns = 0;  // all of them, added up
};
std::vector<ClassFigures> class_figures_of(const Steps& steps);

}  // namespace synctrace
