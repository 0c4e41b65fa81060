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
#include "messages.h"
#include "rollup/dataset.h"
#include "rollup/prom_gauges.h"
#include "rollup/roll_up.h"

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

  const std::optional<Error>& error() const noexcept { return error_; }
  std::size_t recordings() const noexcept { return traces_.size(); }
  std::string gauges() const { return gauges_.text(); }

 private:
  std::optional<Error> write(const Table& table, const RolledRun& run, const fs::path& path) const {
    std::error_code failed;
    fs::create_directories(path.parent_path(), failed);
    if (failed)
      return Error{"cannot make the folder " + path.parent_path().string() + ": " + failed.message() +
                   "; choose another --output."};
    if (auto wrong = refuse_to_replace({path.string(), "table", "--output"}, options_.force_overwrite)) return wrong;
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

}  // namespace synctrace::cli
