// SPDX-License-Identifier: Apache-2.0
#include "rollup_entry.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string_view>
#include <system_error>

#include "exit_status.h"
#include "findings/job/job_facts.h"
#include "job_files.h"
#include "load_reports.h"
#include "messages.h"
#include "replaceable.h"
#include "result_file.h"
#include "rollup/dataset.h"
#include "rollup/prom_gauges.h"
#include "rollup/tables.h"

namespace synctrace::cli {
namespace {

namespace fs = std::filesystem;

// Writes recordings into a dataset, and remembers which.
class Dataset {
 public:
  Dataset(const RollupOptions& options, const char* who) : options_(options), who_(who) {}

  void add(const std::string& trace, const RolledRun& run) {
    const std::string& job = options_.job.empty() ? run.history.job : options_.job;
    if (const auto [known, is_new] = traces_.try_emplace(run.history.id, trace); !is_new)
      say::warn(who_, known->second + " and " + trace + " are the same recording; the tables have the second one.");
    else
      gauges_.add(run, job);
    for (const Table& table : rollup_tables()) {
      const std::string path = table_path(table.name, job, run.history.begin_ns, run.history.rank, run.history.id);
      if (error_) return;
      error_ = write(table, run, fs::path(options_.output) / path);
    }
  }

  const char* who() const noexcept { return who_; }
  const std::optional<Error>& error() const noexcept { return error_; }
  std::size_t recordings() const noexcept { return traces_.size(); }
  std::string gauges() const { return gauges_.text(); }

 private:
  std::optional<Error> write(const Table& table, const RolledRun& run, const fs::path& path) const {
    if (auto wrong = refuse_to_replace({path.string(), "table", "--output"}, options_.force_overwrite)) return wrong;
    std::error_code failed;
    fs::create_directories(path.parent_path(), failed);
    if (failed)
      return Error{"cannot make the folder " + path.parent_path().string() + ": " + failed.message() +
                   "; choose another --output."};
    ResultFile file(path.string());
    write_table(table, run, [&](std::string_view bytes) { file.write(bytes); });
    return file.finish();
  }

  const RollupOptions& options_;
  const char* who_;
  std::map<std::uint64_t, std::string> traces_;  // by RunHistory::id
  PromGauges gauges_;
  std::optional<Error> error_;
};

// False where a trace could not be read, which was said.
bool add_processes(const std::vector<std::string>& files, const RollupOptions& options, const Asked& asked,
                   Dataset& dataset) {
  const auto loaded = load_reports(
      files, asked, dataset.who(),
      [&](std::size_t file, Report& report, const Findings& findings) {
        const RunHistory history = findings.history(report, {options.root, nullptr, 0, {}});
        dataset.add(files[file], {report, history, nullptr, 0, options.commit, !options.no_source});
      },
      true);
  return loaded && loaded->size() == files.size();
}

bool add_job(const JobFiles& job, const RollupOptions& options, const Asked& asked, Dataset& dataset) {
  bool all = job.unreadable == 0;
  for (std::size_t rank = 0; rank < job.ranks.size(); ++rank) {
    const auto loaded = load_reports(
        {&job.ranks[rank], 1}, asked, dataset.who(),
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

}  // namespace

int rollup_traces(const std::vector<std::string>& files, const RollupOptions& options, const StackOptions& stacks,
                  const char* who) {
  const auto fail = [&](const Error& error) {
    say::error(who, error.message);
    return kExitUnusable;
  };
  const Asked asked{stacks.user_code, stacks.names, {}, false, {}};
  Dataset dataset(options, who);
  const auto job = load_job(files, {asked.user_code, asked.steps, false}, asked.names, who);
  const bool all = job ? add_job(*job, options, asked, dataset) : add_processes(files, options, asked, dataset);
  if (dataset.error()) return fail(*dataset.error());
  if (!options.gauges.empty()) {
    ResultFile file(options.gauges);
    file.write(dataset.gauges());
    if (const auto error = file.finish()) return fail(*error);
  }
  if (dataset.recordings() > 0)
    say::info(who, "tables of " + std::to_string(dataset.recordings()) +
                       (dataset.recordings() == 1 ? " recording are in " : " recordings are in ") + options.output);
  return all ? kExitOk : kExitUnusable;
}

}  // namespace synctrace::cli
