// SPDX-License-Identifier: Apache-2.0
// The options of `synctrace run`: parsed, checked, and turned into the environment of the program. A flag wins over the
// SYNCTRACE_* variable of the same name, which wins over the default; both are checked alike before anything starts.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "installation.h"
#include "judge/gate_options.h"
#include "report/report_entry.h"
#include "tables/rollup_entry.h"

namespace synctrace::cli {

struct RunOptions {
  std::string output;                                          // pattern, absolute
  std::vector<std::pair<std::string, std::string>> variables;  // SYNCTRACE_* that the flags set
  std::optional<ReportStyle> report;                           // none: no option says
  StackOptions stacks;
  StepQuestion steps;               // for the report
  std::optional<GateOptions> gate;  // --gate
  RollupOptions rollup;             // with an output: --rollup
  bool force_overwrite = false;
  bool compress = true;
  bool quiet = false;
  bool verbose = false;
  bool first_rank = true;  // only the first of many ranks speaks, or all would at once
  bool simulated_gpu = false;
  bool enabled = true;  // SYNCTRACE_ENABLE
  bool dormant = false;
  std::vector<std::string> command;

  bool speaks() const { return first_rank && !quiet; }
};

// Either the options, or the exit status with which to end at once (help was printed, or an error worded).
struct ParsedRun {
  std::optional<RunOptions> options;
  int exit_status = 0;
};
ParsedRun parse_run_options(int argc, char** argv);

// The environment for the program: ours with the recorder preloaded first and the options set.
std::vector<std::string> program_environment(const RunOptions& options, const Installation& installation,
                                             const std::string& manifest);

// The entries of `environment` that are not in ours.
std::vector<std::string> changed_entries(const std::vector<std::string>& environment);

}  // namespace synctrace::cli
