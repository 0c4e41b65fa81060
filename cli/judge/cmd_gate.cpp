// SPDX-License-Identifier: Apache-2.0
// Verb `gate`: whether recorded programs wait where nothing allows it.
#include <cstdio>
#include <string>
#include <vector>

#include "command_line.h"
#include "commands.h"
#include "exit_status.h"
#include "files/replaceable.h"
#include "files/standard_streams.h"
#include "files/trace_files.h"
#include "files/way_out.h"
#include "files/whole_file.h"
#include "files/written.h"
#include "gate/print_allow.h"
#include "judge/gate_options.h"
#include "messages.h"

namespace synctrace::cli {
namespace {

constexpr const char* kWho = "synctrace gate";

struct Options {
  std::vector<std::string> paths;
  std::string format = "text";
  std::string output;
  bool all = false;
  bool print_allow = false;
  bool force_overwrite = false;
  GateOptions gate;
  StackOptions stacks;
};

void add_options(const CommandLine& app, Options& options) {
  app.add("TRACE", options.paths, "trace files, or folders of them", "").required();
  app.add("--format", options.format, "text (default), json, sarif, junit, github, gitlab or md", "FORMAT")
      .one_of({"text", "json", "sarif", "junit", "github", "gitlab", "md"});
  app.add("-o,--output", options.output, "write the result to FILE instead of stdout", "FILE");
  app.add_flag("--all", options.all, "also show what is allowed, in the baseline, or never waited");
  app.add_flag("--unfinished", options.gate.unfinished,
               "the program still runs, so the missing end of its trace is no loss");
  app.add_flag("--print-allow", options.print_allow,
               "print an entry for synctrace.toml for each finding, and judge nothing");
  declare_force_overwrite(app, options.force_overwrite);
  declare_gate_options(app, options.gate);
  declare_gate_results(app, options.gate);
  declare_code_options(app, options.stacks);
  declare_name_options(app, options.stacks);
  declare_source_options(app, options.stacks.source_roots);
}

int usage_error(const std::string& sentence) {
  say::error(kWho, sentence);
  return kExitUsage;
}

int write_results(const Options& options, const GateRun& run) {
  const bool to_stdout = options.output.empty() || options.output == "-";
  const std::string text = rendered_gate(run.result, options.format, options.all, to_stdout && wants_colour(stdout));
  if (const auto error = write_whole_file(options.output, text)) {
    say::error(kWho, error->message);
    return kExitUnusable;
  }
  say_written(kWho, {options.output});
  // Annotations among another format's text would spoil it.
  std::FILE* notes = to_stdout && options.format != "text" ? stderr : stdout;
  if (!write_gate_files(options.gate, run.result, notes, kWho)) return kExitUnusable;
  return gate_status(options.gate, run);
}

}  // namespace

int cmd_gate(int argc, char** argv) {
  const CommandLine app("Fails when a program waits for the GPU where nothing allows it.", kWho);
  Options options;
  add_options(app, options);
  if (const auto end = app.parse(argc, argv)) return *end;
  if (const auto wrong = take_stack_options(options.stacks)) return usage_error(*wrong);
  const Result<PreparedGate> gate = prepare_gate(options.gate, true);
  if (!gate) return usage_error(gate.error().message);
  const Result<std::vector<std::string>> files = expand_traces(options.paths);
  if (!files) {
    say::error(kWho, files.error().message);
    return kExitUnusable;
  }
  if (files.value().empty()) {
    say::error(kWho, no_traces_in(options.paths.front()));
    return kExitNothing;
  }
  if (options.print_allow && (app.has("--format") || app.has("--write") || app.has("--all")))
    return usage_error("--print-allow judges nothing; leave out --format, --write and --all.");
  const std::string kind = options.print_allow ? "allow" : "gate " + options.format;
  auto refused = refuse_to_replace({options.output, kind, "--output"}, options.force_overwrite, files.value());
  if (!refused) refused = refuse_gate_files(options.gate, options.force_overwrite);
  if (refused) return usage_error(refused->message);
  const GateRun run = run_gate(gate.value(), files.value(), options.stacks, kWho);
  if (run.unreadable && run.result.traces.empty()) return kExitUnusable;
  if (!options.print_allow) return write_results(options, run);
  if (const auto error = write_whole_file(options.output, allow_entries_text(run.result))) {
    say::error(kWho, error->message);
    return kExitUnusable;
  }
  say_written(kWho, {options.output});
  return run.unreadable ? kExitUnusable : kExitOk;
}

}  // namespace synctrace::cli
