// SPDX-License-Identifier: Apache-2.0
// Traces to reports, one after the other, so that memory holds one trace at a time.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "asked_names.h"
#include "findings/findings.h"

namespace synctrace::cli {

// What is asked of each trace.
struct Asked {
  UserCode user_code;
  AskedNames names;
  StepQuestion steps;
  bool all = false;
  WhatIfQuestion question;
};

// A report that was made, with the findings that it is of; both go when it returns.
using SeeReport = std::function<void(std::size_t file, Report& report, const Findings& findings)>;

// Traces that cannot be read are worded on stderr by `who` and left out. Nothing where one lacks the phase that was
// asked for, which is worded too. `draws`: `see` asks for the timeline.
std::optional<std::vector<Report>> load_reports(std::span<const std::string> files, const Asked& asked, const char* who,
                                                const SeeReport& see = {}, bool draws = false);

}  // namespace synctrace::cli
