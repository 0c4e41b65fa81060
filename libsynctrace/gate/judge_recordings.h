// SPDX-License-Identifier: Apache-2.0
// Recordings as a gate judges them, one after the other, so that memory holds one of them at a time.
#pragma once

#include <vector>

#include "gate/gate.h"
#include "recordings/recordings.h"

namespace synctrace {

struct GateQuestion {
  const GateConfig& config;
  const Repository& repository;
  const Baseline* baseline = nullptr;  // null: none
  toml::Date today;
  bool guessed_steps = false;  // WaitSitesOptions::guessed_steps
};

struct GateRun {
  GateResult result;
  std::vector<double> step_ns;      // all traces have them
  std::vector<double> idle_shares;  // one for each device of each trace
  bool unreadable = false;          // at least one trace
};

// Adds what the configuration says about code and steps to what is asked of the recordings.
void ask_for_gate(const GateConfig& config, Asking& asking);

GateRun judge_recordings(Recordings& recordings, const GateQuestion& question);

}  // namespace synctrace
