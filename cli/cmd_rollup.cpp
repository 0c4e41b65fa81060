// SPDX-License-Identifier: Apache-2.0
// The verb rollup: what recordings say, as rows of a dataset that engines for many of them read.
#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "command_line.h"
#include "commands.h"
#include "exit_status.h"
#include "findings/job/job_facts.h"
#include "job_files.h"
#include "load_reports.h"
#include "messages.h"
#include "result_file.h"
#include "rollup/dataset.h"
#include "rollup/prom_gauges.h"
#include "rollup/tables.h"
#include "stack_options.h"
#include "trace_files.h"

namespace synctrace::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kWho = "synctrace rollup";

struct Options {
  std::vector<std::string> paths;
  std::string output;
  std::string job;
  std::string commit;
  std::string root;
  std::string gauges;
  bool no_source = false;
  StackOptions stacks;
};

// Writes recordings into a dataset, and remembers which.
class Dataset {
 public:
  explicit Dataset(const Options& options) : options_(options) {}

  void add(const std::string& trace, const RolledRun& run) {
    const std::string& job = options_.job.empty() ? run.history.job : options_.job;
    if (const auto [known, is_new] = traces_.try_emplace(run.history.id, trace); !is_new)
      say::warn(kWho, known->second + " and " + trace + " are the same recording; the tables have the second one.");
    else
      gauges_.add(run, job);
    for (const Table& table : rollup_tables()) {
      const std::string path = table_path(table.name, job, run.history.begin_ns, run.history.rank, run.history.id);
      if (error_) return;
      error_ = write(table, run, fs::path(options_.output) / path);
    }
  }

  const std::optional<Error>& error() const noexcept { return error_; }
  std::size_t recordings() const noexcept { return traces_.size(); }
  std::string gauges() const { return gauges_.text(); }

 private:
  static std::optional<Error> write(const Table& table, const RolledRun& run, const fs::path& path) {
    std::error_code failed;
    fs::create_directories(path.parent_path(), failed);
    if (failed)
      return Error{"cannot make the folder " + path.parent_path().string() + ": " + failed.message() +
                   "; choose another --output."};
    ResultFile file(path.string());
    write_table(table, run, [&](std::string_view bytes) { file.write(bytes); });
    return file.finish();
  }

  const Options& options_;
  std::map<std::uint64_t, std::string> traces_;  // by RunHistory::id
  PromGauges gauges_;
  std::optional<Error> error_;
};

// False where a trace could not be read, which was said.
bool add_processes(const std::vector<std::string>& files, const Options& options, const Asked& asked,
                   Dataset& dataset) {
  const auto loaded = load_reports(
      files, asked, kWho,
      [&](std::size_t file, Report& report, const Findings& findings) {
        const RunHistory history = findings.history(report, {options.root, nullptr, 0, {}});
        dataset.add(files[file], {report, history, nullptr, 0, options.commit, !options.no_source});
      },
      true);
  return loaded && loaded->size() == files.size();
}

bool add_job(const JobFiles& job, const Options& options, const Asked& asked, Dataset& dataset) {
  bool all = job.unreadable == 0;
  for (std::size_t rank = 0; rank < job.ranks.size(); ++rank) {
    const auto loaded = load_reports(
        {&job.ranks[rank], 1}, asked, kWho,
        [&](std::size_t, Report& report, const Findings& findings) {
          add_job_facts(job.report, rank, report);
          const RunHistory history = findings.history(
              report, {options.root, &job.report, rank, job.findings->exchanges(static_cast<std::uint32_t>(rank))});
          dataset.add(job.ranks[rank], {report, history, &job.report, rank, options.commit, !options.no_source});
        },
        true);
    all = all && loaded && !loaded->empty();
  }
  return add_processes(job.others, options, asked, dataset) && all;
}

int fail(const std::string& message, int status) {
  say::error(kWho, message);
  return status;
}

void declare_options(const CommandLine& app, Options& options) {
  app.add("TRACE", options.paths, "trace files, or folders of them: those of one job together", "").required();
  app.add("-o,--output", options.output, "the dataset: a folder, made where it is not there", "DATASET").required();
  app.add("--job", options.job, "the job's name (default: as the launcher names it)", "NAME");
  app.add("--commit", options.commit, "what was built or checked out, for comparing runs", "TEXT");
  app.add("--root", options.root, "the repository's folder when it ran (default: the working folder)", "FOLDER");
  app.add("--prom-textfile", options.gauges, "also write some gauges for Prometheus, at once", "FILE");
  app.add_flag("--no-source", options.no_source, "leave out command lines, files, functions and text of lines");
  declare_code_options(app, options.stacks);
  declare_name_options(app, options.stacks);
  declare_source_options(app, options.stacks.source_roots);
}

}  // namespace

int cmd_rollup(int argc, char** argv) {
  const CommandLine app("Writes what traces say as tables for many jobs (Parquet).", kWho);
  Options options;
  declare_options(app, options);
  if (const auto end = app.parse(argc, argv)) return *end;
  if (const auto wrong = take_stack_options(options.stacks)) return fail(*wrong, kExitUsage);
  if (!options.root.empty()) {
    options.root = fs::absolute(options.root).lexically_normal().string();
    while (options.root.size() > 1 && options.root.back() == '/') options.root.pop_back();
  }
  const Result<std::vector<std::string>> files = expand_traces(options.paths);
  if (!files) return fail(files.error().message, kExitUnusable);
  if (files.value().empty()) return fail("no *.synctrace file in " + options.paths.front(), kExitNothing);

  const Asked asked{options.stacks.user_code, options.stacks.names, {}, false, {}};
  Dataset dataset(options);
  const auto job = load_job(files.value(), {asked.user_code, asked.steps, false}, asked.names, kWho);
  const bool all = job ? add_job(*job, options, asked, dataset) : add_processes(files.value(), options, asked, dataset);
  if (dataset.error()) return fail(dataset.error()->message, kExitUnusable);
  if (!options.gauges.empty()) {
    ResultFile file(options.gauges);
    file.write(dataset.gauges());
    if (const auto error = file.finish()) return fail(error->message, kExitUnusable);
  }
  if (dataset.recordings() > 0)
    say::info(kWho, "tables of " + std::to_string(dataset.recordings()) +
                        (dataset.recordings() == 1 ? " recording are in " : " recordings are in ") + options.output);
  return all ? kExitOk : kExitUnusable;
}

}  // namespace synctrace::cli
