// SPDX-License-Identifier: Apache-2.0
// Verb `try`: whether a change makes a program faster, by running it with and without.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "asked/narrator.h"
#include "commands.h"
#include "exit_status.h"
#include "files/replaceable.h"
#include "files/trace_files.h"
#include "files/whole_file.h"
#include "files/written.h"
#include "installation.h"
#include "messages.h"
#include "run/gpu_watch.h"
#include "run/spawn.h"
#include "trial/prediction.h"
#include "trial/render_trial.h"
#include "trial/trial_record.h"
#include "try/checkouts.h"
#include "try/gpu_health.h"
#include "try/timed_runs.h"
#include "try/trial.h"
#include "try/try_options.h"

namespace synctrace::cli {
namespace {

constexpr const char* kWho = "synctrace try";

int fail(const std::string& sentence, int status) {
  say::error(kWho, sentence);
  return status;
}

// The program's own file, as it stands in both command lines: options and interpreters may differ.
void warn_of_other_program(const TryOptions& options, const Report& report) {
  std::istringstream words(report.program);
  std::vector<std::string> named;
  for (std::string word; words >> word;) {
    const std::string name = std::filesystem::path(word).filename().string();
    if (!name.starts_with("-") && !name.starts_with("python")) named.push_back(name);
  }
  if (named.empty()) return;
  const std::string command = command_text(options.commands[0]);
  const bool is_named = std::any_of(named.begin(), named.end(),
                                    [&](const std::string& name) { return command.find(name) != std::string::npos; });
  if (!is_named)
    say::warn(kWho, "--from " + options.trace + " is of another program (" + report.program +
                        "), so its promise may not be about this command.");
}

// What the trace promises of the change; the status to end with where it promises nothing.
std::optional<PredictedSaving> read_prediction(const TryOptions& options, int& status) {
  const Result<std::vector<std::string>> files = expand_traces({options.trace});
  status = kExitUnusable;
  if (!files) return say::error(kWho, files.error().message), std::nullopt;
  if (files.value().size() != 1) {
    status = kExitUsage;
    return say::error(kWho, "--from " + options.trace + ": expected one trace; name the file."), std::nullopt;
  }
  Narrator narrator(kWho, &options.stacks.names);
  Recordings recordings(files.value(), narrator.asking(options.stacks.user_code));
  std::optional<Report> report;
  Visit visit;
  visit.files = {0};
  visit.finish = [&](std::size_t, Report one) { report = std::move(one); };
  recordings.visit(visit);
  if (!report) return std::nullopt;
  warn_of_other_program(options, *report);
  Result<PredictedSaving> saving = predicted_saving(*report, options.fix, options.trace);
  if (saving) return std::move(saving).value();
  status = kExitUsage;
  return say::error(kWho, saving.error().message), std::nullopt;
}

// Two GPUs by the names that CUDA_VISIBLE_DEVICES takes.
Result<std::vector<std::string>> gpus_side_by_side() {
  const char* given = std::getenv("CUDA_VISIBLE_DEVICES");
  if (given == nullptr) {
    if (gpu_names().size() >= 2) return std::vector<std::string>{"0", "1"};
    return Error{"--side-by-side needs two GPUs; leave it out, and both sides take turns on one."};
  }
  const std::string names = given;
  const std::size_t comma = names.find(',');
  if (comma == std::string::npos || comma + 1 == names.size())
    return Error{"--side-by-side needs two GPUs, and CUDA_VISIBLE_DEVICES=" + names + " names one."};
  return std::vector<std::string>{names.substr(0, comma),
                                  names.substr(comma + 1, names.find(',', comma + 1) - comma - 1)};
}

void say_limit(const TryOptions& options) {
  say::info(kWho, std::string("both sides run ") + (options.side_by_side ? "side by side" : "in turns") +
                      " for at most " + options.limit + ", until it is decided which is faster.");
}

// A file of the user's tree that the command names is the same for both sides.
void warn_of_tree(const TryOptions& options, const std::string& top) {
  const char* path = std::getenv("PYTHONPATH");
  const bool is_named = command_text(options.commands[0]).find(top) != std::string::npos;
  if (is_named)
    say::warn(kWho, "the command names files in " + top + ", which are the same for both sides; name them relatively.");
  else if (path != nullptr && std::string(path).find(top) != std::string::npos)
    say::warn(kWho, "PYTHONPATH names a folder in " + top + ", which is the same for both sides.");
}

std::string rendered(const TryOptions& options, const TimedTrial& result) {
  if (options.format == "json") return render_trial_json(result);
  if (options.format == "md") return render_trial_markdown(result);
  if (options.format == "junit") return render_trial_junit(result);
  return render_trial_text(result);
}

// Before anything runs: a record can be added to, or can be made.
std::optional<std::string> refuse_record(const std::string& path) {
  if (path.empty()) return std::nullopt;
  const int file = open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0) return "--record " + path + ": " + std::strerror(errno) + "; choose another --record.";
  std::string begin(kTrialRowBegin.size(), '\0');
  const ssize_t got = pread(file, begin.data(), begin.size(), 0);
  close(file);
  if (got == 0 || begin == kTrialRowBegin) return std::nullopt;
  return path + " exists already and is no record of synctrace try; choose another --record.";
}

std::optional<Error> add_to_record(const std::string& path, const TimedTrial& result) {
  if (path.empty() || !has_row(result)) return std::nullopt;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const std::string row = row_text(trial_row(result, std::chrono::nanoseconds(now).count()));
  const int file = open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  const bool is_written = file >= 0 && write(file, row.data(), row.size()) == static_cast<ssize_t>(row.size());
  const std::string why = std::strerror(errno);
  if (file >= 0) close(file);
  return is_written ? std::nullopt : std::optional<Error>(Error{"cannot write to " + path + ": " + why});
}

struct TrialOutcome {
  int status = kExitUsage;
  int ended_by = 0;  // a signal
};

int write_result(const TryOptions& options, const TimedTrial& result, const std::vector<std::string>& last_lines) {
  if (!last_lines.empty()) {
    std::string lines = result.failure + "; its last lines:";
    for (const std::string& line : last_lines) lines += "\n  " + line;
    say::error(kWho, lines);
  }
  if (const auto error = add_to_record(options.record, result)) return fail(error->message, kExitUnusable);
  if (const auto error = write_whole_file(options.output, rendered(options, result)))
    return fail(error->message, kExitUnusable);
  say_written(kWho, {options.output});
  return static_cast<int>(status_of(result));
}

// The order matters: signals are held before the first process begins, and let go when the last checkout is removed.
TrialOutcome run_trial(const TryOptions& options, std::vector<std::string> gpus,
                       const std::optional<PredictedSaving>& saving) {
  TimedRuns runs;
  std::optional<Checkouts> checkouts;
  if (options.has_states()) {
    checkouts.emplace(runs);
    if (const auto wrong = checkouts->make(options.states)) {
      checkouts->remove();
      return {fail(wrong->message, kExitUsage), runs.ended_by()};
    }
    for (const std::string& note : checkouts->notes()) say::info(kWho, note);
    warn_of_tree(options, checkouts->top());
  }
  if (runs.ended_by() != 0) return {kExitNothing, runs.ended_by()};
  say_limit(options);
  GpuWatch watch;
  const Installation installation = find_installation();
  watch.begin(installation, installation.executable.string(), {});
  Trial trial(options, runs, checkouts ? &*checkouts : nullptr, std::move(gpus), saving);
  TimedTrial result = trial.run();
  for (const std::string& note : gpu_notes(watch.end())) result.notes.push_back(note);
  if (const std::vector<std::string> names = gpu_names(); !names.empty()) result.gpu = names.front();
  if (checkouts) {
    if (const auto left = checkouts->remove()) say::warn(kWho, left->message);
  }
  return {write_result(options, result, trial.last_lines()), runs.ended_by()};
}

}  // namespace

int cmd_try(int argc, char** argv) {
  const WriteErrors write_errors;
  ParsedTry parsed = parse_try_options(argc, argv);
  if (!parsed.options) return parsed.exit_status;
  const TryOptions& options = *parsed.options;
  const OutputFile output{options.output, "try " + options.format, "--output"};
  if (const auto refused = refuse_to_replace(output, options.force_overwrite))
    return fail(refused->message, kExitUsage);
  if (const auto refused = refuse_record(options.record)) return fail(*refused, kExitUsage);
  std::vector<std::string> gpus;
  if (options.side_by_side) {
    Result<std::vector<std::string>> found = gpus_side_by_side();
    if (!found) return fail(found.error().message, kExitUsage);
    gpus = std::move(found).value();
  }
  std::optional<PredictedSaving> saving;
  if (options.fix > 0) {
    int status = kExitOk;
    saving = read_prediction(options, status);
    if (!saving) return status;
  }
  const TrialOutcome outcome = run_trial(options, std::move(gpus), saving);
  if (outcome.ended_by == 0) return outcome.status;
  std::fflush(nullptr);
  die_by(outcome.ended_by);
  return 128 + outcome.ended_by;
}

}  // namespace synctrace::cli
