// SPDX-License-Identifier: Apache-2.0
// The room's one entry: all that is said of one trace. What is shown, judged, compared or exported is one of these
// answers, so that no two outputs can disagree.
#pragma once

#include <memory>
#include <string>

#include "code/user_frame.h"
#include "findings/calls/wait_sites.h"
#include "findings/history/build_history.h"
#include "findings/report/report.h"
#include "findings/what_if_question.h"
#include "model/loaded_trace.h"
#include "model/stack_profile.h"
#include "model/trace.h"

namespace synctrace {

struct FindingsOptions {
  UserCode user_code;  // whose code a line is; the executable is the trace's
  StepQuestion steps;
  bool keeps_timeline = false;  // a page, history() or a job will ask for it
};

class Findings {
 public:
  // Explains the trace and keeps it.
  Findings(LoadedTrace loaded, FindingsOptions options);
  ~Findings();
  Findings(const Findings&) = delete;
  Findings& operator=(const Findings&) = delete;

  // `all`: calls outside the recorded windows too.
  Report report(bool all = false, const WhatIfQuestion& question = {}) const;

  // `report` is one of this object. For a process that is looked at alone, it also finds the operations with others.
  HistoryDraft history(const Report& report, HistoryOptions options) const;

  WaitSites wait_sites(const WaitSitesOptions& options) const;

  // What things cost, by stack, for flame graphs; `name` is that of the process.
  StackProfile stack_profile(std::string name) const;

  // What all of it is made of, for the room timeline and for findings about a job.
  const Trace& trace() const noexcept { return loaded_.trace; }
  const Attribution& attribution() const noexcept { return *attribution_; }
  const UserCode& user_code() const noexcept { return options_.user_code; }

 private:
  LoadedTrace loaded_;
  FindingsOptions options_;
  std::unique_ptr<const Attribution> attribution_;
};

}  // namespace synctrace
