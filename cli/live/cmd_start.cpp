// SPDX-License-Identifier: Apache-2.0
// Verb `start`: records a window of programs that are running.
#include <algorithm>
#include <chrono>
#include <ctime>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "base/format_text.h"
#include "base/quantity_text.h"
#include "command_line.h"
#include "commands.h"
#include "contract/launch_contract.h"
#include "contract/live_messages.h"
#include "contract/option_values.h"
#include "exit_status.h"
#include "files/output_check.h"
#include "live/dormant_processes.h"
#include "live/live_options.h"
#include "live/live_window.h"
#include "messages.h"
#include "recordings/recordings.h"

namespace synctrace::cli {
namespace {

constexpr const char* kWho = "synctrace start";
constexpr std::int64_t kSecondNs = 1'000'000'000;

// A window that waits for steps ends with this, found or not.
constexpr std::int64_t kLongestNs = 600 * kSecondNs;
constexpr std::chrono::milliseconds kLookEvery{500};

struct Options {
  std::string who;
  std::string duration;
  std::optional<int> step_count;
  std::string at;
  WindowRequest window;
  LiveOptions live;
};

void declare(const CommandLine& app, Options& options) {
  declare_processes(app, options.who);
  app.add("--duration", options.duration, "end the window after this long, and report; without it: synctrace stop",
          "TIME");
  app.add_number("--step-count", options.step_count, 1, 1'000'000,
                 "end the window after so many steps (or after --duration), and report", "N");
  app.add("--at", options.at, "begin at this time of day, 14:30 or 14:30:05, or that long from now: +5s", "TIME");
  declare_level(app, options.window.level);
  app.add("-o,--output", options.window.output, "name of the trace, as for run (default: that of run)", "PATTERN");
  app.add_flag("-f,--force-overwrite", options.window.force_overwrite, "replace an existing trace");
  app.add("--max-size", options.window.max_size, "end the window when its trace has this size, e.g. 500M", "SIZE");
  declare_live_options(app, options.live);
}

// The next moment at which the clock shows that time.
std::optional<std::int64_t> next_time_of_day(const std::string& text) {
  const std::time_t now = std::time(nullptr);
  std::tm wanted{};
  localtime_r(&now, &wanted);
  wanted.tm_sec = 0;
  const char* end = strptime(text.c_str(), "%H:%M:%S", &wanted);
  if (end == nullptr || *end != '\0') {
    wanted.tm_sec = 0;
    end = strptime(text.c_str(), "%H:%M", &wanted);
  }
  if (end == nullptr || *end != '\0') return std::nullopt;
  wanted.tm_isdst = -1;
  std::time_t when = std::mktime(&wanted);
  if (when <= now) {
    ++wanted.tm_mday;
    wanted.tm_isdst = -1;
    when = std::mktime(&wanted);
  }
  return std::int64_t{when} * kSecondNs;
}

std::optional<std::string> take_times(Options& options) {
  if (!options.duration.empty()) {
    if (auto wrong = take_duration("--duration", options.duration, options.window.length_ns)) return wrong;
  }
  if (options.step_count && options.window.length_ns == 0) options.window.length_ns = kLongestNs;
  std::uint64_t bytes = 0;
  if (!options.window.max_size.empty() && !format::parse_size(options.window.max_size, bytes))
    return "--max-size " + options.window.max_size + ": expected " + format::kExpectedSize + ".";
  options.window.max_size = options.window.max_size.empty() ? "" : std::to_string(bytes);
  if (options.at.empty()) return std::nullopt;
  std::int64_t from_now_ns = 0;
  if (options.at.front() == '+' && format::parse_duration(options.at.substr(1), from_now_ns)) {
    options.window.begin_ns = realtime_now_ns() + from_now_ns;
    return std::nullopt;
  }
  const std::optional<std::int64_t> when = next_time_of_day(options.at);
  if (!when) return "--at " + options.at + ": expected a time of day such as 14:30, or +5s.";
  options.window.begin_ns = *when;
  return std::nullopt;
}

// Whether the window has as many steps as were asked for: found as a report finds them, in the growing file.
class StepCount {
 public:
  StepCount(const Options& options, const DormantProcess& process)
      : wanted_(static_cast<std::size_t>(options.step_count.value_or(0))),
        growing_(process.value(format::kKeyFile) + std::string(format::kPartialSuffix)),
        user_code_(options.live.run.stacks.user_code) {}

  bool is_reached() {
    if (wanted_ == 0 || std::chrono::steady_clock::now() < next_look_) return false;
    Asking asking;
    asking.user_code = user_code_;
    Recordings recordings({growing_}, std::move(asking));
    std::size_t found = 0;
    Visit visit;
    visit.files = {0};
    visit.see = [&](OpenRecording& recording) {
      found = recording.report().steps.figures.count;
      return false;
    };
    const auto begin = std::chrono::steady_clock::now();
    recordings.visit(visit);
    // A large file takes long to read: then rarely.
    next_look_ = std::chrono::steady_clock::now() + std::max<std::chrono::steady_clock::duration>(
                                                        kLookEvery, 4 * (std::chrono::steady_clock::now() - begin));
    return found >= wanted_;
  }

 private:
  std::size_t wanted_;
  std::string growing_;
  UserCode user_code_;
  std::chrono::steady_clock::time_point next_look_{};
};

// Until then nothing is loaded, and the program pays nothing.
void wait_for_time(const Options& options) {
  const std::int64_t wait_ns = options.window.begin_ns - realtime_now_ns() - kHeadStartNs;
  if (options.window.begin_ns == 0 || wait_ns <= 0) return;
  say::info("synctrace", format_text("waiting for {} until the window begins.", duration_text(wait_ns + kHeadStartNs)));
  std::this_thread::sleep_for(std::chrono::nanoseconds(wait_ns));
}

std::string begun_text(const Options& options, const std::string& what) {
  const std::string length = duration_text(options.window.length_ns);
  std::string text = "recording " + what;
  if (options.step_count)
    text += format_text(" for {} steps, at most {}", *options.step_count, length);
  else if (options.window.length_ns != 0)
    text += " for " + length;
  if (options.window.level == kGpuToo) text += format_text(". {}", kRecordsStay);
  if (options.window.length_ns == 0) return text + ". To end the window: synctrace stop " + options.who;
  return text + ".";
}

}  // namespace

int cmd_start(int argc, char** argv) {
  const CommandLine app("Records a window of programs that were started with run --dormant.", kWho);
  Options options;
  declare(app, options);
  if (const auto end = app.parse(argc, argv)) return *end;
  std::optional<std::string> wrong = take_times(options);
  if (!wrong) wrong = take_live_options(options.live);
  if (!wrong && !options.window.output.empty()) {
    Result<CheckedOutput> output = check_output(options.window.output, options.window.force_overwrite);
    if (output)
      options.window.output = output.value().pattern;
    else
      wrong = output.error().message;
  }
  if (wrong) {
    say::error(kWho, *wrong);
    return kExitUsage;
  }
  const std::vector<DormantProcess> named = find_processes(options.who, kWho);
  if (named.empty()) return kExitUnusable;
  wait_for_time(options);
  const std::vector<DormantProcess> started = open_windows(named, options.window, kWho);
  if (started.empty()) return kExitUnusable;
  const std::string what = started.size() == 1 ? format_text("process {}", started.front().pid)
                                               : format_text("{} processes", started.size());
  say::info("synctrace", begun_text(options, what));
  if (options.window.length_ns != 0) {
    StepCount steps(options, started.front());
    bool is_stopped = false;
    const std::int64_t until_begin_ns = std::max(options.window.begin_ns - realtime_now_ns(), std::int64_t{0});
    await_end(started, until_begin_ns + options.window.length_ns, [&] {
      if (is_stopped || !steps.is_reached()) return;
      is_stopped = true;
      close_windows(started, kWho);
    });
    if (const int status = finish_windows(started, options.live.run, kWho); status != kExitOk) return status;
  }
  return started.size() == named.size() ? kExitOk : kExitUnusable;
}

}  // namespace synctrace::cli
