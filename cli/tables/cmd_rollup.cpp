// SPDX-License-Identifier: Apache-2.0
// The verb rollup: what recordings say, as rows of a dataset that engines for many of them read.
#include <filesystem>
#include <string>
#include <vector>

#include "asked/stack_options.h"
#include "command_line.h"
#include "commands.h"
#include "exit_status.h"
#include "files/replaceable.h"
#include "files/trace_files.h"
#include "files/way_out.h"
#include "messages.h"
#include "tables/rollup_entry.h"

namespace synctrace::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kWho = "synctrace rollup";

int fail(const std::string& message, int status) {
  say::error(kWho, message);
  return status;
}

void declare_options(const CommandLine& app, std::vector<std::string>& paths, std::string& trials,
                     RollupOptions& options, StackOptions& stacks) {
  app.add("TRACE", paths, "trace files, or folders of them: all of a job together", "");
  app.add("--trials", trials, "the record that synctrace try --record wrote, as one more table", "FILE");
  app.add("-o,--output", options.output, "the dataset: a folder, made where it is not there", "DATASET").required();
  app.add("--job", options.job, "the job's name (default: the launcher's name for it)", "NAME");
  app.add("--commit", options.commit, "what was built or checked out, for comparing runs", "TEXT");
  app.add("--root", options.root, "the repository's folder when it ran (default: the working folder)", "FOLDER");
  app.add("--prom-textfile", options.gauges, "also write gauges for Prometheus to FILE", "FILE");
  app.add_flag("--no-source", options.no_source, "leave out command lines, files, functions and text of lines");
  declare_force_overwrite(app, options.force_overwrite);
  declare_code_options(app, stacks);
  declare_name_options(app, stacks);
  declare_source_options(app, stacks.source_roots);
}

}  // namespace

int cmd_rollup(int argc, char** argv) {
  const CommandLine app("Writes what traces say as tables for many jobs (Parquet).", kWho);
  std::vector<std::string> paths;
  RollupOptions options;
  std::string trials;
  StackOptions stacks;
  declare_options(app, paths, trials, options, stacks);
  if (const auto end = app.parse(argc, argv)) return *end;
  if (const auto wrong = take_stack_options(stacks)) return fail(*wrong, kExitUsage);
  if (!options.root.empty()) {
    options.root = fs::absolute(options.root).lexically_normal().string();
    while (options.root.size() > 1 && options.root.back() == '/') options.root.pop_back();
  }
  if (paths.empty() && trials.empty())
    return fail("expected TRACE...; type synctrace rollup TRACE... --output DATASET", kExitUsage);
  if (!trials.empty()) {
    const int status = rollup_trials(trials, options, kWho);
    if (status != kExitOk || paths.empty()) return status;
  }
  const Result<std::vector<std::string>> files = expand_traces(paths);
  if (!files) return fail(files.error().message, kExitUnusable);
  if (files.value().empty()) return fail(no_traces_in(paths.front()), kExitNothing);
  if (const auto wrong = refuse_to_replace({options.gauges, "gauges", "--prom-textfile"}, options.force_overwrite))
    return fail(wrong->message, kExitUsage);
  return rollup_traces(files.value(), options, stacks, kWho);
}

}  // namespace synctrace::cli
