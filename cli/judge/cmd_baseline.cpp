// SPDX-License-Identifier: Apache-2.0
// Verb `baseline`: makes and keeps the file of findings that are known.
#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "base/shown_text.h"
#include "command_line.h"
#include "commands.h"
#include "exit_status.h"
#include "files/trace_files.h"
#include "files/whole_file.h"
#include "gate/baseline_changes.h"
#include "judge/gate_options.h"
#include "messages.h"

namespace synctrace::cli {
namespace {

constexpr const char* kWho = "synctrace baseline";
constexpr const char* kDefaultFile = "synctrace-baseline.json";

struct Options {
  std::vector<std::string> paths;
  bool accept_new = false;
  bool force_overwrite = false;
  GateOptions gate;
  StackOptions stacks;
};

int fail(int status, const std::string& sentence) {
  say::error(kWho, sentence);
  return status;
}

std::string words_of(const BaselineEntry& entry) {
  const Fingerprint& f = entry.fingerprint;
  std::string words = (f.file.empty() ? "-" : f.file) + ": " + f.rule;
  if (!f.function.empty()) words += " in " + f.function;
  if (!entry.text.empty()) words += ": " + entry.text;
  if (f.ordinal > 1) words += " (number " + std::to_string(f.ordinal) + " of such lines)";
  return words + (entry.per_step > 0 ? ", " + std::to_string(entry.per_step) + " a step" : "");
}

int show(const PreparedGate& gate) {
  if (!gate.baseline)
    return fail(kExitUnusable, "there is no " + gate.baseline_path + "; synctrace baseline create makes it.");
  for (const BaselineEntry& entry : gate.baseline->entries) std::printf("%s\n", printable(words_of(entry)).c_str());
  return kExitOk;
}

int write_change(const std::string& path, const BaselineChange& change) {
  if (const auto error = write_whole_file(path, baseline_text(change.result)))
    return fail(kExitUnusable, error->message);
  for (const BaselineEntry& entry : change.refused)
    say::warn(kWho, "not taken over without --accept-new: " + words_of(entry));
  say::info(kWho, path + ": " + std::to_string(change.result.entries.size()) + " findings (" +
                      std::to_string(change.added) + " added, " + std::to_string(change.changed) + " changed, " +
                      std::to_string(change.dropped) + " removed)");
  return change.refused.empty() ? kExitOk : kExitNegative;
}

int change(BaselineVerb verb, const Options& options, PreparedGate gate) {
  std::error_code ignored;
  const bool exists = std::filesystem::exists(gate.baseline_path, ignored);
  if (verb == BaselineVerb::kCreate && exists && !options.force_overwrite) {
    return fail(kExitUsage, gate.baseline_path + " is there already; update or prune it, or give --force-overwrite.");
  }
  if (verb != BaselineVerb::kCreate && !gate.baseline)
    return fail(kExitUsage, "there is no " + gate.baseline_path + "; synctrace baseline create makes it.");
  const Result<std::vector<std::string>> files = expand_traces(options.paths);
  if (!files) return fail(kExitUnusable, files.error().message);
  const Baseline before = gate.baseline ? *gate.baseline : Baseline();
  gate.baseline.reset();
  const GateRun run = run_gate(gate, files.value(), options.stacks, kWho);
  if (run.unreadable) return kExitUnusable;
  // What a run did not show may be there all the same.
  if (run.result.traces.empty() || !run.result.nothing.empty()) {
    return fail(kExitNothing, "nothing to judge" +
                                  (run.result.nothing.empty() ? std::string(".") : ": " + run.result.nothing.front()));
  }
  return write_change(gate.baseline_path,
                      change_baseline(verb, before, run.result, options.accept_new, Repository(gate.root)));
}

}  // namespace

int cmd_baseline(int argc, char** argv) {
  const CommandLine app("Keeps the findings that are known and do not fail the gate.", kWho);
  Options options;
  const auto verb = [&](const char* name, const char* help, bool has_traces) {
    CommandLine sub = app.add_verb(name, help);
    if (has_traces) sub.add("TRACE", options.paths, "trace files, or folders of them", "").required();
    declare_gate_options(sub, options.gate);
    declare_code_options(sub, options.stacks);
    declare_name_options(sub, options.stacks);
    declare_source_options(sub, options.stacks.source_roots);
    return sub;
  };
  const CommandLine create = verb("create", "write all that is found", true);
  create.add_flag("-f,--force-overwrite", options.force_overwrite, "replace the file");
  const CommandLine update = verb("update", "follow renamed files and falling counts", true);
  update.add_flag("--accept-new", options.accept_new, "take over new findings and higher counts as well");
  const CommandLine prune = verb("prune", "remove what is not found any more", true);
  verb("show", "print the entries", false);
  if (const auto end = app.parse(argc, argv)) return *end;
  if (const auto wrong = take_stack_options(options.stacks)) return fail(kExitUsage, *wrong);
  Result<PreparedGate> gate = prepare_gate(options.gate, false);
  if (!gate) return fail(kExitUsage, gate.error().message);
  if (gate.value().baseline_path.empty()) gate.value().baseline_path = kDefaultFile;
  if (!gate.value().baseline && gate.value().baseline_path == kDefaultFile) {
    GateOptions with_default = options.gate;
    with_default.baseline = kDefaultFile;
    gate = prepare_gate(with_default, false);
    if (!gate) return fail(kExitUsage, gate.error().message);
  }
  if (create.was_chosen()) return change(BaselineVerb::kCreate, options, std::move(gate).value());
  if (update.was_chosen()) return change(BaselineVerb::kUpdate, options, std::move(gate).value());
  if (prune.was_chosen()) return change(BaselineVerb::kPrune, options, std::move(gate).value());
  return show(gate.value());
}

}  // namespace synctrace::cli
