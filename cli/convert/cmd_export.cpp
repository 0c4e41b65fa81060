// SPDX-License-Identifier: Apache-2.0
// The verb export: traces in the formats of other tools.
#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include "asked/narrator.h"
#include "asked/stack_options.h"
#include "base/quantity_text.h"
#include "command_line.h"
#include "commands.h"
#include "convert/export_formats.h"
#include "exit_status.h"
#include "files/replaceable.h"
#include "files/trace_files.h"
#include "files/way_out.h"
#include "files/written.h"
#include "findings/job/missing_ranks.h"
#include "messages.h"

namespace synctrace::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kWho = "synctrace export";

struct Options {
  std::vector<std::string> paths;
  std::string format;  // empty: by the name of the output
  std::string output;
  bool force_overwrite = false;
  bool stacks = false;
  std::string weight = "gpu_idle";
  StackOptions names;
};

int fail(const std::string& message, int status = kExitUnusable) {
  say::error(kWho, message);
  return status;
}

Measure weight_of(const Options& options) {
  const auto* const found = std::find_if(kMeasureNames.begin(), kMeasureNames.end(),
                                         [&](const MeasureName& one) { return one.name == options.weight; });
  return static_cast<Measure>(found - kMeasureNames.begin());
}

bool is_one_of(const std::string& file, const std::vector<std::string>& traces) {
  std::error_code ignored;
  return std::any_of(traces.begin(), traces.end(),
                     [&](const std::string& trace) { return fs::equivalent(trace, file, ignored); });
}

// Why a file must not be written.
std::optional<Error> refuse(const std::string& file, const Options& options, const std::vector<std::string>& traces) {
  std::error_code ignored;
  if (options.output.ends_with('/') && !fs::exists(options.output, ignored)) return std::nullopt;  // made below
  // Nothing tells an export of ours from another tool's file of that format.
  return refuse_to_replace({file, "export", "--output"}, options.force_overwrite, traces);
}

// A folder gets one file for each trace, which is what HTA wants; a file gets them all.
Result<std::vector<ExportRequest>> requests_of(const Options& options, const ExportFormat& format,
                                               const Recordings& recordings, const std::vector<std::size_t>& traces) {
  std::error_code ignored;
  std::vector<ExportRequest> requests;
  if (!options.output.ends_with('/') && !fs::is_directory(options.output, ignored)) {
    requests.push_back({traces, options.output, options.stacks, weight_of(options)});
  } else {
    std::set<std::string> names;
    for (const std::size_t trace : traces) {
      const std::string name = trace_stem(recordings.path(trace)) + std::string(format.ending);
      if (!names.insert(name).second)
        return Error{"two of the traces would be written to " + name + "; export them one by one."};
      const std::string file = (fs::path(options.output) / name).string();
      requests.push_back({{trace}, file, options.stacks, weight_of(options)});
    }
  }
  std::vector<std::string> paths;
  for (const std::size_t trace : traces) paths.push_back(recordings.path(trace));
  for (const ExportRequest& request : requests) {
    for (const std::string& file : format.files(request)) {
      if (const auto error = refuse(file, options, paths)) return *error;
    }
  }
  return requests;
}

void warn_of_missing_ranks(const JobReport& job) {
  if (job.expected_ranks <= job.recorded_ranks) return;
  const std::string which = job.missing.empty() ? std::string() : ", not " + ranks_text(job.missing);
  say::warn(kWho, count_text(job.recorded_ranks) + " of " + count_text(job.expected_ranks) + " ranks were recorded" +
                      which + ": what waited for a missing one may be shown as moving data");
}

// What a stream, a pipe, a device or a folder gets, which have no name that tells.
constexpr std::string_view kDefaultFormat = "chrome";

// The option names the format, or else the ending of the output does.
Result<const ExportFormat*> format_of(const Options& options, const std::vector<std::string>& traces) {
  if (!options.format.empty()) return find_export_format(options.format);
  std::error_code ignored;
  const fs::file_status there = fs::status(options.output, ignored);
  const bool is_no_file = options.output.ends_with('/') || (fs::exists(there) && !fs::is_regular_file(there));
  // What must not be written is refused as that, whatever its name.
  if (options.output == "-" || is_no_file || is_one_of(options.output, traces))
    return find_export_format(kDefaultFormat);
  if (const ExportFormat* const found = export_format_of_file(fs::path(options.output).filename().string()))
    return found;
  std::string endings;
  for (const ExportFormat& format : export_formats())
    endings += (endings.empty() ? "" : ", ") + std::string(format.ending) + " (" + std::string(format.name) + ")";
  return Error{"which format is " + options.output + "? Give --format, or a name that ends in one of " + endings + "."};
}

void add_options(const CommandLine& app, Options& options) {
  app.add("TRACE", options.paths, "trace files, or folders of them; unfinished .partial files are fine", "").required();
  std::vector<std::string> names;
  std::string help = "one of these (default: what the output's ending says, else chrome)";
  for (const ExportFormat& format : export_formats()) {
    names.emplace_back(format.name);
    help.append("\n").append(format.name).append(" (").append(format.ending).append("): ").append(format.help);
  }
  app.add("--format", options.format, help, "FORMAT").one_of(names);
  app.add("-o,--output", options.output, "a file for all traces, a folder for one file each, or - for stdout", "PATH")
      .required();
  app.add_flag("--stacks", options.stacks, "write the stack of each call beside it");
  std::vector<std::string> measures;
  for (const MeasureName& measure : kMeasureNames) measures.emplace_back(measure.name);
  app.add("--weight", options.weight, "what folded adds up: gpu_idle (default), host_blocked, waits or samples",
          "WEIGHT")
      .one_of(measures);
  declare_name_options(app, options.names);
  declare_source_options(app, options.names.source_roots);
  declare_force_overwrite(app, options.force_overwrite);
}

int run_all(const ExportFormat& format, const std::vector<ExportRequest>& requests, Recordings& recordings) {
  int status = kExitOk;
  std::vector<std::string> files;
  for (const ExportRequest& request : requests) {
    const int written = format.run(format, request, recordings);
    status = std::max(status, written);
    if (written == kExitOk) std::ranges::copy(format.files(request), std::back_inserter(files));
  }
  say_written(kWho, files, "format " + std::string(format.name));
  return status;
}

}  // namespace

int cmd_export(int argc, char** argv) {
  const CommandLine app("Writes traces in the format of another tool.", kWho);
  Options options;
  add_options(app, options);
  if (const auto end = app.parse(argc, argv)) return *end;

  if (const auto wrong = take_stack_options(options.names)) return fail(*wrong, kExitUsage);
  const Result<std::vector<std::string>> traces = expand_traces(options.paths);
  if (!traces) return fail(traces.error().message);
  if (traces.value().empty()) return fail(no_traces_in(options.paths.front()), kExitNothing);
  const Result<const ExportFormat*> chosen = format_of(options, traces.value());
  if (!chosen) return fail(chosen.error().message, kExitUsage);
  const ExportFormat& format = *chosen.value();
  if (app.has("--weight") && format.name != "folded")
    return fail("--weight belongs to the format folded; leave it out, or give --format=folded.", kExitUsage);
  Narrator narrator(kWho, format.is_of_stacks ? &options.names.names : nullptr);
  Recordings recordings(traces.value(), narrator.asking());
  const Result<std::vector<ExportRequest>> requests = requests_of(options, format, recordings, recordings.all());
  if (!requests) return fail(requests.error().message, kExitUsage);
  if (options.output.ends_with('/')) {
    std::error_code failed;
    fs::create_directories(options.output, failed);
    if (failed) return fail("cannot make the folder " + options.output + ": " + failed.message() + ".");
  }
  if (format.shows_ranks) narrator.find_job(recordings);
  if (!recordings.is_job()) return run_all(format, requests.value(), recordings);
  warn_of_missing_ranks(recordings.job());
  // The ranks in their order, without what cannot be read.
  const Result<std::vector<ExportRequest>> of_job =
      requests_of(options, format, recordings, recordings.ranks_and_others());
  if (!of_job) return fail(of_job.error().message, kExitUsage);
  const int written = run_all(format, of_job.value(), recordings);
  return recordings.unreadable() > 0 ? int{kExitUnusable} : written;
}

}  // namespace synctrace::cli
