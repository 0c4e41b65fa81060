// SPDX-License-Identifier: Apache-2.0
// Steps that took unusually long, as changes beside those that a replay predicts. A replay knows ordinary steps only.
#pragma once

#include <vector>

#include "findings/calls/stack_places.h"
#include "findings/remedies/frameworks.h"
#include "findings/report/report.h"
#include "whatif/what_if.h"

namespace synctrace {

struct Attribution;

// What one doing of the host costs all irregular steps more than as many ordinary ones. Where a wait had emptied the
// GPU's queue, that is what the host did behind the wait.
struct SlowStepCause {
  CauseKind kind = CauseKind::kUnknown;  // what takes most of it at that place
  StackPlace place{};
  SourceLine where;
  FixKey key;
  Interval saving;
};

struct SlowSteps {
  Nanoseconds extra_ns = 0;  // by which all irregular steps exceed as many ordinary ones; 0: too little to count
  std::vector<SlowStepCause> causes;  // dearest first
};

// Counts from 5 % of the loop's time on, on the verdict's device. After the verdict.
SlowSteps find_slow_steps(const Attribution& attribution, StackPlaces& places, const Report& report);

// A prediction for ordinary steps becomes one for all steps behind the warm-up: each irregular one counts as an
// ordinary one and its extra time.
void stand_for_all_steps(const SlowSteps& slow, const StepFigures& steps, WhatIf& found);

// Adds a change for each of the causes, or to the change of the same place. After the remedies of the replay.
void add_slow_step_remedies(const SlowSteps& slow, const StepFigures& steps, const Frameworks& frameworks,
                            SavingsReport& savings);

}  // namespace synctrace
