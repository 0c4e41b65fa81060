// SPDX-License-Identifier: Apache-2.0
#include "tables/rollup_entry.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string_view>
#include <system_error>

#include "asked/narrator.h"
#include "exit_status.h"
#include "files/replaceable.h"
#include "files/result_file.h"
#include "files/whole_file.h"
#include "messages.h"
#include "rollup/dataset.h"
#include "rollup/prom_gauges.h"
#include "rollup/roll_up.h"
#include "rollup/trials_table.h"

namespace synctrace::cli {
namespace {

namespace fs = std::filesystem;

// `path` is relative to the dataset; `write` hands the file to a sink.
template <class Write>
std::optional<Error> write_file(const RollupOptions& options, const std::string& path, Write write) {
  const fs::path whole = fs::path(options.output) / path;
  std::error_code failed;
  fs::create_directories(whole.parent_path(), failed);
  if (failed)
    return Error{"cannot make the folder " + whole.parent_path().string() + ": " + failed.message() +
                 "; choose another --output."};
  if (auto wrong = refuse_to_replace({whole.string(), "table", "--output"}, options.force_overwrite)) return wrong;
  ResultFile file(whole.string());
  write([&](std::string_view bytes) { file.write(bytes); });
  return file.finish();
}

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
      error_ = write_file(options_, path, [&](const ByteSink& sink) { write_table(table, run, sink); });
    }
  }

  const std::optional<Error>& error() const noexcept { return error_; }
  std::size_t recordings() const noexcept { return traces_.size(); }
  std::string gauges() const { return gauges_.text(); }

 private:
  const RollupOptions& options_;
  const char* who_;
  std::map<std::uint64_t, std::string> traces_;  // by RunHistory::id
  PromGauges gauges_;
  std::optional<Error> error_;
};

}  // namespace

int rollup_traces(const std::vector<std::string>& files, const RollupOptions& options, const StackOptions& stacks,
                  const char* who) {
  const auto fail = [&](const Error& error) {
    say::error(who, error.message);
    return kExitUnusable;
  };
  Dataset dataset(options, who);
  Narrator narrator(who, &stacks.names);
  Recordings recordings(files, narrator.asking(stacks.user_code));
  narrator.find_job(recordings);
  roll_up(recordings, {options.root, options.commit, !options.no_source},
          [&](const std::string& path, const RolledRun& run) { dataset.add(path, run); });
  if (dataset.error()) return fail(*dataset.error());
  if (!options.gauges.empty()) {
    ResultFile file(options.gauges);
    file.write(dataset.gauges());
    if (const auto error = file.finish()) return fail(*error);
  }
  if (dataset.recordings() > 0)
    say::info(who, "tables of " + std::to_string(dataset.recordings()) +
                       (dataset.recordings() == 1 ? " recording are in " : " recordings are in ") + options.output);
  return recordings.unreadable() == 0 ? kExitOk : kExitUnusable;
}

int rollup_trials(const std::string& record, const RollupOptions& options, const char* who) {
  const auto fail = [&](const std::string& message, int status) {
    say::error(who, message);
    return status;
  };
  const Result<std::string> text = read_whole_file(record, kMostTrialBytes);
  if (!text) return fail(text.error().message, kExitUnusable);
  const Result<std::vector<TrialRow>> rows = read_trial_rows(text.value());
  if (!rows) return fail(record + ": " + rows.error().message, kExitUnusable);
  if (rows.value().empty()) return fail(record + " has no trial yet; see synctrace try --record.", kExitNothing);
  const auto write = [&](const ByteSink& sink) { write_trials(rows.value(), sink); };
  if (const auto error = write_file(options, trials_path(rows.value(), options.job), write))
    return fail(error->message, kExitUnusable);
  const std::size_t count = rows.value().size();
  say::info(who, std::to_string(count) + (count == 1 ? " trial is in " : " trials are in ") + options.output);
  return kExitOk;
}

}  // namespace synctrace::cli
