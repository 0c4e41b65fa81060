// SPDX-License-Identifier: Apache-2.0
// Trace and attribution -> Report: groups calls into sites, ranks them, and words what could not be known.
#pragma once

#include "code/user_frame.h"
#include "findings/report/report.h"
#include "findings/what_if_question.h"
#include "model/trace.h"

namespace synctrace {

struct Attribution;

struct ReportOptions {
  bool all = false;    // also calls outside the recorded windows
  UserCode user_code;  // whose code a line is; the executable is the trace's
  WhatIfQuestion question{};
};

Report build_report(const Trace& trace, const Attribution& attribution, const ReportOptions& options);

}  // namespace synctrace
