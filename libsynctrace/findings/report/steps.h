// SPDX-License-Identifier: Apache-2.0
// The steps of the program's loops, and what each part of the run costs. Times are ns.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/time_span.h"
#include "findings/report/rules.h"
#include "findings/report/source_line.h"
#include "steps/run_times.h"
#include "steps/steps.h"

namespace synctrace {

// A step that took unusually long, or short.
struct IrregularStep {
  std::size_t index = 0;  // among all steps, from 0
  Nanoseconds begin_ns = 0;
  Nanoseconds length_ns = 0;
};

struct StepsReport {
  std::string source = "none";
  std::string name;
  FileLine where;  // the loop's line; 0: not known
  StepConfidence confidence = StepConfidence::kHigh;
  std::string doubt;  // a clause: why it is not high
  std::size_t micro_steps = 1;
  bool is_by_log = false;             // each of these may be a step: `doubt` says so
  std::vector<ClassFigures> classes;  // the most common first; empty: all steps are alike
  StepFigures figures;
  std::vector<IrregularStep> irregular;  // longest first, at most kMostIrregularSteps
  Nanoseconds ordinary_ns = 0;           // all others but the warm-up, added up: verdict and savings are about them
  Nanoseconds ordinary_mean_ns = 0;
  Nanoseconds irregular_ns = 0;
  Nanoseconds irregular_mean_ns = 0;
};
inline constexpr std::size_t kMostIrregularSteps = 20;

// What costs most of the idle time in a part of the run.
struct WorstCause {
  const Rule* rule = nullptr;  // null: no rule
  std::string name;
  SourceLine where;  // without its stack
  Nanoseconds idle_ns = 0;
};

// A part of the run; without a GPU timeline nothing is known of idle time.
struct RunPart {
  Nanoseconds time_ns = 0;
  Nanoseconds idle_ns = 0;  // on the verdict's GPU
  std::optional<WorstCause> worst;
};

// The steps of one loop: training, validation.
struct PhaseReport {
  std::size_t number = 1;  // by time, from 1: of --phase
  bool reported = false;   // whether all else in the report is about it
  std::string source;
  SourceLine where;  // the loop's line; its function has the name
  StepFigures figures;
  RunPart part;  // the steps without the warm-up
};

}  // namespace synctrace
