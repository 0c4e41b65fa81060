// SPDX-License-Identifier: Apache-2.0
// Verb `diff`: what changed between two recordings.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "asked/step_options.h"
#include "command_line.h"
#include "commands.h"
#include "exit_status.h"
#include "files/replaceable.h"
#include "files/trace_files.h"
#include "files/way_out.h"
#include "files/whole_file.h"
#include "files/written.h"
#include "gate/compare.h"
#include "judge/gate_options.h"
#include "messages.h"

namespace synctrace::cli {
namespace {

constexpr const char* kWho = "synctrace diff";

struct Options {
  std::vector<std::string> traces;
  std::vector<std::string> after;
  std::string format = "text";
  std::string output;
  bool force_overwrite = false;
  GateOptions gate;
  StackOptions stacks;
};

void add_options(const CommandLine& app, Options& options) {
  app.add("TRACE", options.traces, "BEFORE and AFTER: a trace each, or a folder of them", "").required();
  app.add("--after", options.after, "more traces of AFTER; then all others are of BEFORE", "TRACE...");
  app.add("--format", options.format, "text (default) or json", "FORMAT").one_of({"text", "json"});
  app.add("-o,--output", options.output, "write the result to FILE instead of stdout", "FILE");
  declare_force_overwrite(app, options.force_overwrite);
  app.add("--root", options.gate.root, "the folder that paths are written from (default: that with .git)", "FOLDER");
  app.add("--judge-steps", options.gate.steps, "the steps that count, from 0 (default 3:)", "FIRST:LAST");
  const CommandOption range = declare_step_range(app, "--step-range", options.gate.step_range);
  declare_step_line(app, options.gate.step_line).excludes(range);
  declare_code_options(app, options.stacks);
  declare_name_options(app, options.stacks);
  declare_source_options(app, options.stacks.source_roots);
}

// One side, or the exit status to end with.
std::optional<RunSide> judge_side(const PreparedGate& gate, const std::vector<std::string>& paths,
                                  const Options& options, int& status) {
  status = kExitUnusable;
  const Result<std::vector<std::string>> files = expand_traces(paths);
  if (!files) {
    say::error(kWho, files.error().message);
    return std::nullopt;
  }
  std::optional<JobReport> job;
  GateRun run = run_gate(gate, files.value(), options.stacks, kWho, &job);
  if (run.unreadable) return std::nullopt;
  if (run.result.traces.empty()) {
    say::error(kWho, no_traces_in(paths.front()));
    status = kExitNothing;
    return std::nullopt;
  }
  for (const std::string& why : run.result.nothing) say::warn(kWho, why);
  return RunSide{std::move(run.result), std::move(run.step_ns), std::move(run.idle_shares), std::move(job)};
}

}  // namespace

int cmd_diff(int argc, char** argv) {
  const CommandLine app("Says which lines that wait for the GPU appeared, went or changed.", kWho);
  Options options;
  add_options(app, options);
  if (const auto end = app.parse(argc, argv)) return *end;
  std::optional<std::string> wrong = take_stack_options(options.stacks);
  options.gate.no_config = true;
  Result<PreparedGate> gate = prepare_gate(options.gate, false);
  // The steps that the report finds: two runs are compared, and nothing fails for a guess.
  if (gate) gate.value().guessed_steps = true;
  if (!wrong && !gate) wrong = gate.error().message;
  if (!wrong && options.after.empty()) {
    if (options.traces.size() == 2) {
      options.after = {options.traces.back()};
      options.traces.pop_back();
    } else {
      wrong = "expected two recordings: type synctrace diff BEFORE AFTER, or synctrace diff BEFORE... --after AFTER...";
    }
  }
  if (!wrong) {
    const auto refused =
        refuse_to_replace({options.output, "diff " + options.format, "--output"}, options.force_overwrite);
    if (refused) wrong = refused->message;
  }
  if (wrong) {
    say::error(kWho, *wrong);
    return kExitUsage;
  }
  int status = kExitOk;
  const std::optional<RunSide> before = judge_side(gate.value(), options.traces, options, status);
  if (!before) return status;
  const std::optional<RunSide> after = judge_side(gate.value(), options.after, options, status);
  if (!after) return status;
  const ComparedRuns runs = compare_runs(*before, *after);
  const std::string text = options.format == "json" ? render_compared_json(runs) : render_compared_text(runs);
  if (const auto error = write_whole_file(options.output, text)) {
    say::error(kWho, error->message);
    return kExitUnusable;
  }
  say_written(kWho, {options.output});
  if (runs.is_of_two_programs()) {
    say::warn(kWho, "these are recordings of two programs, " + runs.programs[0] + " and " + runs.programs[1] +
                        ", and no line of one is in the other: give two recordings of one program.");
  }
  return runs.is_worse() ? kExitNegative : kExitOk;
}

}  // namespace synctrace::cli
