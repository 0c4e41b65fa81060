// SPDX-License-Identifier: Apache-2.0
// Verb `watch`: looks at a running program every few seconds, and records a longer window when a rule holds.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "asked/narrator.h"
#include "base/format_text.h"
#include "base/quantity_text.h"
#include "command_line.h"
#include "commands.h"
#include "exit_status.h"
#include "files/output_check.h"
#include "live/dormant_processes.h"
#include "live/live_options.h"
#include "live/short_windows.h"
#include "messages.h"
#include "recordings/recordings.h"
#include "run/finish_run.h"
#include "watch/look.h"
#include "watch/rule_watch.h"

namespace synctrace::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kWho = "synctrace watch";

// How many times as long the next look is where one showed nothing.
constexpr std::int64_t kLonger = 4;

// After so many it is said which rules have seen nothing.
constexpr std::size_t kLooksToJudge = RuleWatch::kFewestForMedian;

struct Options {
  std::string who;
  std::vector<std::string> rules;
  std::string look = "500ms";
  std::string every = "10s";
  std::string record = "10s";
  std::string cooldown = "5m";
  std::string output;
  std::optional<int> keep;
  std::optional<int> count;
  LiveOptions live;
  std::string level;
  std::int64_t look_ns = 0;
  std::int64_t every_ns = 0;
  std::int64_t record_ns = 0;
  std::int64_t cooldown_ns = 0;
  std::vector<RuleWatch> watches;
};

void declare(const CommandLine& app, Options& options) {
  declare_processes(app, options.who);
  app.add("--when", options.rules, "record when this holds: 'step > 1.3 x median for 3', 'gpu idle > 40 % for 30s'",
          "RULE")
      .one_value_each();
  app.add("--look", options.look, "how long each look is (default 500ms)", "TIME");
  app.add("--every", options.every, "how often one is taken (default 10s)", "TIME");
  app.add("--record", options.record, "how long a window is recorded when a rule holds (default 10s)", "TIME");
  app.add("--cooldown", options.cooldown, "record nothing for so long behind a window (default 5m)", "TIME");
  app.add_number("--keep", options.keep, 1, 10'000, "remove all but the last N windows (default 10)", "N");
  app.add_number("-n,--count", options.count, 1, 10'000, "end after so many windows", "N");
  app.add("-o,--output", options.output, "names of the windows' traces, as for run (default: that of run)", "PATTERN");
  declare_level(app, options.level);
  declare_live_options(app, options.live);
}

std::optional<std::string> take_times(Options& options) {
  if (auto wrong = take_duration("--look", options.look, options.look_ns)) return wrong;
  if (auto wrong = take_duration("--every", options.every, options.every_ns)) return wrong;
  if (auto wrong = take_duration("--record", options.record, options.record_ns)) return wrong;
  if (auto wrong = take_duration("--cooldown", options.cooldown, options.cooldown_ns, true)) return wrong;
  if (options.every_ns < 2 * options.look_ns) return "--every is less than twice --look; looks would be all the time.";
  return std::nullopt;
}

std::optional<std::string> take(Options& options) {
  if (auto wrong = take_times(options)) return wrong;
  if (options.rules.empty()) return "which rule? Type --when 'step > 1.3 x median for 3'.";
  for (const std::string& text : options.rules) {
    Result<WatchRule> rule = parse_rule(text);
    if (!rule) return "--when " + rule.error().message;
    options.watches.emplace_back(std::move(rule).value());
    if (options.level == kWaitsAlone && needs_gpu_records(options.watches.back().rule().quantity))
      return "--when " + text + ": this needs --level timeline. " + kRecordsStay + ".";
  }
  if (!options.output.empty()) {
    Result<CheckedOutput> output = check_output(options.output, true);
    if (!output) return output.error().message;
    options.output = output.value().pattern;
  }
  return take_live_options(options.live);
}

// Looks need no names, and say nothing of what could not be read: the next one comes.
std::vector<Look> look_at(const std::vector<std::string>& files, const Options& options) {
  Asking asking;
  asking.user_code = options.live.run.stacks.user_code;
  Recordings recordings(files, std::move(asking));
  std::vector<Report> reports;
  Visit visit;
  visit.files = recordings.all();
  visit.finish = [&](std::size_t, Report report) { reports.push_back(std::move(report)); };
  recordings.visit(visit);
  return looks_of(reports, std::chrono::duration<double>(Clock::now().time_since_epoch()).count());
}

class Watcher {
 public:
  Watcher(std::vector<DormantProcess> processes, Options& options)
      : processes_(std::move(processes)), options_(options), looks_(processes_.front(), kWho) {}

  int run() {
    say_what();
    const int most = options_.count.value_or(0);
    for (int windows = 0; !is_asked_to_end() && (most == 0 || windows < most);) {
      if (!find_again()) return kExitOk;
      const Clock::time_point next = Clock::now() + std::chrono::nanoseconds(options_.every_ns);
      std::optional<std::vector<std::string>> files;
      const std::vector<Look> looks = look_until_seen(files);
      if (!files) return find_again() ? kExitUnusable : kExitOk;
      bool is_healthy = true;
      const RuleWatch* fired = hold_against_rules(looks, is_healthy);
      if (++looks_taken_ == kLooksToJudge) say_what_is_unseen();
      const bool records = fired != nullptr && Clock::now() >= quiet_until_;
      if (records && !record(*fired, *files)) return find_again() ? kExitUnusable : kExitOk;
      keep_look(std::move(*files), is_healthy);
      windows += records ? 1 : 0;
      if (records) continue;
      pause_until(next);
    }
    return kExitOk;
  }

 private:
  void say_what() const {
    const double share = 100.0 * static_cast<double>(options_.look_ns) / static_cast<double>(options_.every_ns);
    say::info("synctrace",
              format_text("looking at {} process{} for {} in every {} ({:.1f} % of the time); Ctrl-C ends this, "
                          "not the program{}",
                          processes_.size(), processes_.size() == 1 ? "" : "es", duration_text(options_.look_ns),
                          duration_text(options_.every_ns), share,
                          options_.level == kWaitsAlone ? "." : format_text(". {}.", kRecordsStay)));
  }

  // A rule about what no look has shown will never hold, and the user may wait for days.
  void say_what_is_unseen() const {
    for (const RuleWatch& watch : options_.watches) {
      if (watch.was_seen()) continue;
      say::warn("synctrace", format_text("--when {}: none of {} looks showed it. Longer looks may (--look 5s)",
                                         watch.rule().text, kLooksToJudge) +
                                 (options_.level == kWaitsAlone ? ", or --level timeline." : "."));
    }
  }

  // A launcher starts ranks, and ends some, while it is watched. False, which is told, when none is left.
  bool find_again() {
    std::string problem;
    processes_ = named_processes(options_.who, problem);
    if (processes_.empty()) say::info("synctrace", options_.who + " has ended.");
    return !processes_.empty();
  }

  // Where a look shows nothing of a rule, as too few steps, a longer one follows; but not of a rule that no look has
  // ever shown. No files: it cannot be recorded.
  std::vector<Look> look_until_seen(std::optional<std::vector<std::string>>& files) {
    const std::int64_t longest_ns = std::max(options_.every_ns / 2, kLonger * options_.look_ns);
    for (std::int64_t length_ns = options_.look_ns;; length_ns *= kLonger) {
      if (files) remove_files(*files);
      files = looks_.record(processes_, length_ns, options_.level);
      if (!files) return {};
      std::vector<Look> looks = look_at(*files, options_);
      const bool is_seen = std::all_of(options_.watches.begin(), options_.watches.end(), [&](const RuleWatch& watch) {
        return watch.is_seen_in(looks) || (looks_taken_ >= kLooksToJudge && !watch.was_seen());
      });
      if (is_seen || length_ns * kLonger > longest_ns || is_asked_to_end()) return looks;
    }
  }

  static void remove_files(const std::vector<std::string>& files) {
    std::error_code ignored;
    for (const std::string& file : files) std::filesystem::remove(file, ignored);
  }

  // The rule that fires; null: none.
  const RuleWatch* hold_against_rules(const std::vector<Look>& looks, bool& is_healthy) {
    const RuleWatch* fired = nullptr;
    for (RuleWatch& watch : options_.watches) {
      const RuleWatch::Answer answer = looks.empty() ? RuleWatch::Answer::kUnknown : watch.take(looks);
      is_healthy &= answer == RuleWatch::Answer::kHealthy || answer == RuleWatch::Answer::kUnknown;
      if (answer == RuleWatch::Answer::kFires && fired == nullptr) fired = &watch;
    }
    return fired;
  }

  // The last look at which no rule held stays, to be compared with.
  void keep_look(std::vector<std::string> files, bool is_healthy) {
    if (is_healthy) return looks_.replace(std::move(files));
    remove_files(files);
  }

  bool record(const RuleWatch& fired, const std::vector<std::string>& look) {
    const std::string head = format_text("{}  {}: {}; recording {}\n", clock_text(), fired.rule().text, fired.finding(),
                                         duration_text(options_.record_ns));
    std::fwrite(head.data(), 1, head.size(), stdout);
    std::fflush(stdout);
    WindowRequest window;
    window.length_ns = options_.record_ns;
    window.level = options_.level;
    window.output = options_.output;
    const auto files = record_window(processes_, window, kWho);
    if (!files) return false;
    const FinishedRun finished = finish_run(options_.live.run, *files, {});
    compare(look);
    keep(finished.traces);
    quiet_until_ = Clock::now() + std::chrono::nanoseconds(options_.cooldown_ns);
    return true;
  }

  // What `diff` says of the first process, look beside look: a window costs the program more than they do.
  void compare(const std::vector<std::string>& look) const {
    if (looks_.kept().empty() || look.empty()) return;
    std::vector<std::string> words = {"diff", looks_.kept().front(), look.front()};
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    std::fputs("This look beside the last at which no rule held:\n", stdout);
    cmd_diff(static_cast<int>(words.size()), arguments.data());
    std::fflush(stdout);
  }

  void keep(const std::vector<std::string>& traces) {
    constexpr int kDefault = 10;
    kept_.push_back(traces);
    for (; kept_.size() > static_cast<std::size_t>(options_.keep.value_or(kDefault)); kept_.pop_front())
      remove_files(kept_.front());
  }

  std::vector<DormantProcess> processes_;
  Options& options_;
  ShortWindows looks_;
  std::deque<std::vector<std::string>> kept_;
  Clock::time_point quiet_until_{};
  std::size_t looks_taken_ = 0;
};

// A job that begins is waited for until a program of it uses a GPU. A process that a shell has just made does not show
// yet what it will be.
std::vector<DormantProcess> await_processes(const std::string& who) {
  constexpr std::chrono::milliseconds kTick{200};
  constexpr std::chrono::seconds kToShow{2};
  const Clock::time_point shown_by = Clock::now() + kToShow;
  std::string problem;
  for (bool is_told = false; is_living_process(who) && !is_asked_to_end();) {
    std::vector<DormantProcess> named = named_processes(who, problem);
    if (!named.empty()) return named;
    const bool is_dormant = is_started_dormant(who);
    if (!is_dormant && Clock::now() > shown_by) break;
    if (is_dormant && !is_told) say::info("synctrace", format_text("waiting until {} uses a GPU.", who));
    is_told |= is_dormant;
    pause_until(Clock::now() + kTick);
  }
  return is_asked_to_end() ? std::vector<DormantProcess>() : find_processes(who, kWho);
}

}  // namespace

int cmd_watch(int argc, char** argv) {
  const CommandLine app("Looks at a running program every few seconds, and records a window when a rule holds.", kWho);
  Options options;
  declare(app, options);
  if (const auto end = app.parse(argc, argv)) return *end;
  if (const std::optional<std::string> wrong = take(options)) {
    say::error(kWho, *wrong);
    return kExitUsage;
  }
  end_on_signals();
  std::vector<DormantProcess> named = await_processes(options.who);
  if (named.empty()) return is_asked_to_end() ? kExitOk : kExitUnusable;
  return Watcher(std::move(named), options).run();
}

}  // namespace synctrace::cli
