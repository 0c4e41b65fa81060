// SPDX-License-Identifier: Apache-2.0
// The room's one entry: all that is said of one trace. What is shown, judged, compared or exported is one of these
// answers, so that no two outputs can disagree.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "code/user_frame.h"
#include "findings/calls/wait_sites.h"
#include "findings/history/build_history.h"
#include "findings/report/report.h"
#include "findings/what_if_question.h"
#include "model/outstanding.h"
#include "model/stack_profile.h"
#include "model/trace.h"

namespace synctrace {

struct FindingsOptions {
  UserCode user_code;  // whose code a line is; the executable is the trace's
  StepQuestion steps;
  bool keeps_timeline = false;  // a page or history() will be asked for
};

class Findings {
 public:
  // Explains the trace, which must outlive the object. `joins`: those of this very trace where they are known already,
  // as load_trace() hands them on.
  Findings(const Trace& trace, FindingsOptions options, std::optional<Joins> joins = {});
  ~Findings();

  // `all`: calls outside the recorded windows too.
  Report report(bool all = false, const WhatIfQuestion& question = {}) const;

  // `report` is one of this object. For a process that is looked at alone, it also finds the operations with others.
  RunHistory history(const Report& report, HistoryOptions options) const;

  WaitSites wait_sites(const WaitSitesOptions& options) const;

  // What things cost, by stack, for flame graphs; `name` is that of the process.
  StackProfile stack_profile(std::string name) const;

  // What all of it is made of, for the room timeline alone.
  const Trace& trace() const noexcept { return trace_; }
  const Attribution& attribution() const noexcept { return *attribution_; }

 private:
  const Trace& trace_;
  FindingsOptions options_;
  std::unique_ptr<const Attribution> attribution_;
};

}  // namespace synctrace
