// SPDX-License-Identifier: Apache-2.0
// What `gate`, `baseline` and `run --gate` have in common: where the configuration comes from, what is judged, what is
// written. Everything is read and checked before anything runs.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "asked/stack_options.h"
#include "base/result.h"
#include "base/source_roots.h"
#include "command_line.h"
#include "gate/baseline.h"
#include "gate/gate.h"
#include "gate/gate_config.h"
#include "gate/judge_recordings.h"
#include "gate/repository.h"

namespace synctrace::cli {

struct GateOptions {
  std::string config;  // a file; empty: search
  bool no_config = false;
  std::string root;  // the repository's; empty: find it
  std::string baseline;
  std::string steps;
  std::string step_range;
  std::string step_line;
  bool only_zones = false;
  bool unfinished = false;
  std::vector<std::string> write;  // FORMAT=FILE
  std::optional<int> error_exit_code;
};

void declare_gate_options(const CommandLine& app, GateOptions& options);
void declare_gate_results(const CommandLine& app, GateOptions& options);  // for verbs that judge

// All that was read; ready to judge.
struct PreparedGate {
  GateConfig config;
  std::string root;
  SourceRoots roots;          // what the root allows to be read
  std::string baseline_path;  // absolute, or from the current folder; empty: none
  std::optional<Baseline> baseline;
  bool guessed_steps = false;  // WaitSitesOptions::guessed_steps
};

// `needs_baseline`: a baseline file that does not exist is an error.
Result<PreparedGate> prepare_gate(const GateOptions& options, bool needs_baseline);

// Judges traces. `job`: where it is not null, it gets what is said of all of them if they are ranks of one job.
GateRun run_gate(const PreparedGate& gate, std::span<const std::string> files, const StackOptions& stacks,
                 const char* who, std::optional<JobReport>* job = nullptr);

// "sarif=out.sarif". Formats: text, json, sarif, junit, github, gitlab, md.
bool is_gate_format(const std::string& format);
std::string rendered_gate(const GateResult& result, const std::string& format, bool all, bool colour);

// Why one of the files of --write must not be written (replaceable.h).
std::optional<Error> refuse_gate_files(const GateOptions& options, bool force);

// Writes what --write asks for, and on GitHub the annotations (to `notes`) and the step summary. Errors are worded.
bool write_gate_files(const GateOptions& options, const GateResult& result, std::FILE* notes, const char* who);

// The exit status of the whole.
int gate_status(const GateOptions& options, const GateRun& run);

}  // namespace synctrace::cli
