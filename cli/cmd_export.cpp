// SPDX-License-Identifier: Apache-2.0
// The verb export: traces in the formats of other tools.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "command_line.h"
#include "commands.h"
#include "exchange/chrome_trace.h"
#include "exit_status.h"
#include "format/trace_reader.h"
#include "messages.h"
#include "result_file.h"
#include "trace_files.h"

namespace synctrace::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kWho = "synctrace export";
constexpr const char* kEnding = ".json";

struct Options {
  std::vector<std::string> paths;
  std::string format = "chrome";
  std::string output;
  bool force_overwrite = false;
  bool stacks = false;
};

// One result, and the traces that go into it.
struct Job {
  std::string output;  // "-": stdout
  std::vector<std::string> traces;
};

int fail(const std::string& message, int status = kExitUnusable) {
  say::error(kWho, message);
  return status;
}

// A folder gets one file for each trace, which is what HTA wants; a file gets them all.
Result<std::vector<Job>> jobs_of(const Options& options, const std::vector<std::string>& traces) {
  std::error_code ignored;
  std::vector<Job> jobs;
  if (!options.output.ends_with('/') && !fs::is_directory(options.output, ignored)) {
    jobs.push_back({options.output, traces});
  } else {
    std::set<std::string> names;
    for (const std::string& trace : traces) {
      const std::string name = trace_stem(trace) + kEnding;
      if (!names.insert(name).second) return Error{"two of the traces would be written to " + name + "; export them one by one."};
      jobs.push_back({(fs::path(options.output) / name).string(), {trace}});
    }
  }
  for (const Job& job : jobs) {
    const bool is_trace = std::any_of(traces.begin(), traces.end(), [&](const std::string& trace) { return fs::equivalent(trace, job.output, ignored); });
    if (is_trace) return Error{job.output + " is one of the traces; choose another --output."};
    if (job.output != "-" && !options.force_overwrite && fs::is_regular_file(job.output, ignored)) {
      return Error{job.output + " exists already; choose another --output, or replace it with --force-overwrite."};
    }
  }
  return jobs;
}

// The earliest begin of the traces, from their heads alone; those that cannot be read do not count.
std::uint64_t start_of(const std::vector<std::string>& traces) {
  std::optional<std::uint64_t> earliest;
  for (const std::string& trace : traces) {
    const Result<format::TraceReader> reader = format::TraceReader::open(trace);
    if (!reader) continue;
    const std::uint64_t start = reader.value().header().start_realtime_ns;
    earliest = std::min(start, earliest.value_or(start));
  }
  return earliest.value_or(0);
}

int run(const Job& job, const Options& options) {
  ResultFile file(job.output);
  const bool several = job.traces.size() > 1;
  const std::string name = job.output == "-" ? trace_stem(job.traces.front()) : fs::path(job.output).filename().string();
  ChromeTrace result({name, chrome_base_ns(start_of(job.traces)), several, options.stacks},
                     [&](std::string_view piece) { file.write(piece); });
  std::size_t added = 0;
  for (const std::string& path : job.traces) {
    const std::optional<Trace> trace = load_or_say(path, kWho);
    if (!trace) continue;
    result.add(*trace);
    ++added;
  }
  if (added == 0) return kExitUnusable;
  result.finish();
  if (const auto error = file.finish()) return fail(error->message);
  return added == job.traces.size() ? kExitOk : kExitUnusable;
}

}  // namespace

int cmd_export(int argc, char** argv) {
  CLI::App app("Writes traces in the format of another tool.", kWho);
  Options options;
  app.add_option("TRACE", options.paths, "trace files, or folders of them; unfinished .partial files are fine")
      ->required()
      ->type_name("");
  app.add_option("--format", options.format, "chrome (default): JSON that Perfetto's UI and Meta's HTA open")
      ->check(CLI::IsMember({"chrome"}))
      ->type_name("FORMAT");
  app.add_option("-o,--output", options.output, "a file for all traces, a folder for one file each, or - for stdout")
      ->required()
      ->type_name("PATH");
  app.add_flag("--stacks", options.stacks, "write the stack of each call beside it");
  app.add_flag("--force-overwrite", options.force_overwrite, "replace files that exist");
  if (const auto end = parse_command_line(app, argc, argv)) return *end;

  const Result<std::vector<std::string>> traces = expand_traces(options.paths);
  if (!traces) return fail(traces.error().message);
  if (traces.value().empty()) return fail("no *.synctrace file in " + options.paths.front(), kExitNothing);
  const Result<std::vector<Job>> jobs = jobs_of(options, traces.value());
  if (!jobs) return fail(jobs.error().message, kExitUsage);
  if (options.output.ends_with('/')) {
    std::error_code failed;
    fs::create_directories(options.output, failed);
    if (failed) return fail("cannot make the folder " + options.output + ": " + failed.message() + ".");
  }
  int status = kExitOk;
  for (const Job& job : jobs.value()) status = std::max(status, run(job, options));
  return status;
}

}  // namespace synctrace::cli
