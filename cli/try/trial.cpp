// SPDX-License-Identifier: Apache-2.0
#include "try/trial.h"

#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/format_text.h"
#include "exit_status.h"
#include "run/program_file.h"
#include "run/trace_manifest.h"
#include "trial/trial_words.h"

namespace synctrace::cli {
namespace {

constexpr const char* kSideNames[] = {"before", "after"};

double seconds(std::int64_t ns) { return static_cast<double>(ns) / 1e9; }

// One word is for the shell, unless it names a program or a script and nothing else.
std::vector<std::string> words_of(const std::vector<std::string>& command) {
  constexpr const char* kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+./";
  if (command.size() == 1 && command.front().find_first_not_of(kPlain) != std::string::npos)
    return {"/bin/sh", "-c", command.front()};
  return with_interpreter(command);
}

// For the first runs and the fewest pairs, and some more.
std::int64_t least_limit_s(std::int64_t pair_ns) {
  constexpr std::int64_t kRoundedToS = 10;
  const double needed_s = 1.25 * seconds(pair_ns) * static_cast<double>(kFewestPairs + 1);
  return (static_cast<std::int64_t>(needed_s) / kRoundedToS + 1) * kRoundedToS;
}

// "ended with status 7"
std::string end_words(const ProgramEnd& end) {
  if (end.start_error == ENOENT) return "was not found";
  if (end.start_error != 0) return std::string("cannot be started: ") + std::strerror(end.start_error);
  if (end.signal != 0) return format_text("was ended by signal {} ({})", end.signal, strsignal(end.signal));
  return format_text("ended with status {}", end.exit_status);
}

int status_of(const ProgramEnd& end) { return end.signal != 0 ? 128 + end.signal : end.exit_status; }

void set(std::vector<std::string>& environment, const std::string& name, const std::string& value) {
  std::erase_if(environment, [&](const std::string& entry) { return entry.starts_with(name + "="); });
  environment.push_back(name + "=" + value);
}

}  // namespace

Trial::Trial(const TryOptions& options, TimedRuns& runs, Checkouts* checkouts, std::vector<std::string> gpus,
             const std::optional<PredictedSaving>& saving)
    : options_(options),
      runs_(runs),
      checkouts_(checkouts),
      gpus_(std::move(gpus)),
      saving_(saving),
      begin_ns_(monotonic_ns()) {
  result_.before.command = command_text(options.commands[0]);
  result_.after.command = command_text(options.commands[1]);
  if (checkouts != nullptr) {
    result_.before.state = checkouts->before().state;
    result_.after.state = checkouts->after().state;
  }
  result_.by_steps = options.step.has_value();
  result_.is_rate = options.is_rate;
  if (options.step) result_.pattern = options.step->text();
  result_.rule = options.rule;
  result_.limit_s = seconds(options.limit_ns);
}

std::vector<Trial::Run> Trial::run_turns(const std::vector<Turn>& turns) {
  std::vector<Run> runs;
  std::vector<ProgramCall> calls;
  for (std::size_t i = 0; i < turns.size(); ++i)
    runs.push_back({{}, {options_.step ? &*options_.step : nullptr, options_.same ? &*options_.same : nullptr}});
  for (std::size_t i = 0; i < turns.size(); ++i) {
    ProgramCall call;
    call.words = words_of(options_.commands[turns[i].side]);
    call.environment = environment_without_git();
    if (checkouts_ != nullptr) {
      call.folder = turns[i].side == 0 ? checkouts_->before().folder : checkouts_->after().folder;
      set(call.environment, "PWD", call.folder);
    }
    if (!gpus_.empty()) set(call.environment, "CUDA_VISIBLE_DEVICES", gpus_[turns[i].gpu]);
    call.take = [&output = runs[i].output](std::size_t stream, std::string_view bytes) { output.take(stream, bytes); };
    calls.push_back(std::move(call));
  }
  const std::vector<ProgramEnd> ends = runs_.run(calls, begin_ns_ + options_.limit_ns);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    runs[i].end = ends[i];
    runs[i].output.end();
  }
  return runs;
}

void Trial::end_with(TrialEnd end, std::string failure) {
  result_.end = end;
  result_.failure = std::move(failure);
  is_over_ = true;
}

// False: the trial is over.
bool Trial::take_figure(const Turn& turn, Run& run) {
  const std::string side = kSideNames[turn.side];
  if (run.end.left_behind > 0 && result_.notes.empty())
    result_.notes.push_back(format_text("The program left {} process{} behind, which were ended.", run.end.left_behind,
                                        run.end.left_behind == 1 ? "" : "es"));
  if (runs_.ended_by() != 0) return end_with(TrialEnd::kInterrupted), false;
  if (run.end.was_stopped) return end_with(TrialEnd::kTimeLimit), false;
  if (!run.end.is_good()) {
    last_lines_ = run.output.last_lines();
    if (checkouts_ != nullptr)
      result_.notes.push_back(
          "A checkout has the files that git tracks, and no others: name data by an absolute path.");
    return end_with(TrialEnd::kFailed, "the command '" + side + "' " + end_words(run.end)), false;
  }
  run.figure = seconds(run.end.wall_ns);
  if (!options_.step) return true;
  const auto step = run.output.step();
  if (!step) {
    last_lines_ = run.output.last_lines();
    return end_with(TrialEnd::kFailed, "the command '" + side + "' printed no number that --step matches"), false;
  }
  run.figure = options_.is_rate ? 1.0 / *step : *step;
  return true;
}

// A change that ends the program differently is no failure of the trial, unless the second command cannot be run.
bool Trial::compare_first(const std::vector<Run>& runs) {
  const bool is_run = runs[1].end.start_error == 0 && status_of(runs[1].end) != kExitNotFound &&
                      status_of(runs[1].end) != kExitNotExecutable;
  if (runs[0].end.is_good() && !runs[1].end.is_good() && is_run) {
    last_lines_ = runs[1].output.last_lines();
    return end_with(TrialEnd::kDifferent, "the command 'after' " + end_words(runs[1].end) + ", and 'before' with 0"),
           false;
  }
  return true;
}

// The first run of each side fills caches and compiles; it is compared, and not timed.
bool Trial::warm_up() {
  std::vector<Run> runs;
  for (const std::size_t side : {0U, 1U}) {
    std::vector<Run> one = run_turns({{side, gpus_.empty() ? 0 : side}});
    runs.push_back(std::move(one.front()));
    if (!runs.back().end.was_stopped) {
      TrialSide& tried = side == 0 ? result_.before : result_.after;
      tried.exit_status = status_of(runs.back().end);
    }
    if (runs_.ended_by() != 0 || runs.back().end.was_stopped || (side == 0 && !runs.back().end.is_good())) {
      take_figure({side, 0}, runs.back());
      if (result_.end == TrialEnd::kTimeLimit)
        result_.failure = format_text("the first run of '{}' did not end within the time limit", kSideNames[side]);
      return false;
    }
    pair_ns_ += runs.back().end.wall_ns;
  }
  if (!compare_first(runs)) return false;
  if (!take_figure({0, 0}, runs[0]) || !take_figure({1, 0}, runs[1])) return false;
  if (options_.same) {
    ComparedOutput same{options_.same->text(), options_.tolerance, runs[0].output.same(), runs[1].output.same(), true};
    if (same.before.empty()) {
      last_lines_ = runs[0].output.last_lines();
      return end_with(TrialEnd::kFailed, "the command 'before' printed nothing that --same matches"), false;
    }
    same.is_equal = are_alike(same.before, same.after, options_.tolerance);
    result_.same = same;
    if (!same.is_equal) return end_with(TrialEnd::kDifferent), false;
  }
  const std::string files = checkouts_ == nullptr ? "" : checkouts_->new_files(0);
  if (!files.empty())
    result_.notes.push_back("Runs leave files in their checkout (" + files +
                            "): a program that goes on from these does less in later runs.");
  return true;
}

// Two runs, one after the other; or four on two GPUs, where each side has each GPU once.
bool Trial::run_pair() {
  const std::int64_t begin_ns = monotonic_ns();
  const std::size_t first = result_.pairs.size() % 2;  // who begins takes turns, so that drift is the same for both
  std::vector<std::vector<Turn>> rounds = {{{first, 0}}, {{1 - first, 0}}};
  if (!gpus_.empty()) rounds = {{{0, 0}, {1, 1}}, {{1, 0}, {0, 1}}};
  double figures[2] = {0.0, 0.0};
  for (const std::vector<Turn>& turns : rounds) {
    std::vector<Run> runs = run_turns(turns);
    for (std::size_t i = 0; i < turns.size(); ++i) {
      if (!take_figure(turns[i], runs[i])) return false;
      double& figure = figures[turns[i].side];
      figure = figure > 0.0 ? std::sqrt(figure * runs[i].figure) : runs[i].figure;
    }
  }
  pair_ns_ = monotonic_ns() - begin_ns;
  result_.pairs.push_back({figures[0], figures[1]});
  return true;
}

bool Trial::is_decided() {
  if (saving_) {
    const double run_s = options_.step ? 0.0 : middle_before(result_);
    result_.prediction = compare_prediction(*saving_, run_s, result_.effect());
  }
  if (!is_look(result_.pairs.size()) || result_.verdict() == TrialVerdict::kUndecided) return false;
  return !result_.prediction || !result_.prediction->is_comparable() ||
         result_.prediction->agreement != Agreement::kUndecided;
}

bool Trial::is_time_for_a_pair() const {
  return result_.pairs.empty() || monotonic_ns() + pair_ns_ <= begin_ns_ + options_.limit_ns;
}

void Trial::say_progress() const {
  if (isatty(STDERR_FILENO) != 1) return;
  std::fputs("\r\x1b[K", stderr);
  if (result_.pairs.empty()) {
    std::fprintf(stderr, "synctrace try: first runs, which are not timed");
  } else {
    const double left_s = seconds(begin_ns_ + options_.limit_ns - monotonic_ns());
    std::fprintf(stderr, "synctrace try: pair %zu, %.0f s left; so far %s", result_.pairs.size() + 1, left_s,
                 verdict_sentence(result_).c_str());
  }
  std::fflush(stderr);
}

TimedTrial Trial::run() {
  say_progress();
  warm_up();
  while (!is_over_) {
    say_progress();
    if (result_.pairs.size() >= kMostPairs)
      end_with(TrialEnd::kManyPairs);
    else if (!is_time_for_a_pair())
      end_with(TrialEnd::kTimeLimit);
    else if (run_pair() && is_decided())
      end_with(TrialEnd::kDecided);
  }
  if (isatty(STDERR_FILENO) == 1) std::fputs("\r\x1b[K", stderr);
  result_.taken_s = seconds(monotonic_ns() - begin_ns_);
  if (result_.end == TrialEnd::kTimeLimit && result_.pairs.size() < kFewestPairs && pair_ns_ > 0) {
    result_.notes.push_back(format_text("A pair of runs takes {:.0f} s: shorten the runs, or give --time-limit {}s.",
                                        seconds(pair_ns_), least_limit_s(pair_ns_)));
  }
  return std::move(result_);
}

}  // namespace synctrace::cli
