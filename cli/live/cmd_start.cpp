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

// All ranks begin together: by then each has been asked, and has loaded CUPTI.
constexpr std::int64_t kHeadStartNs = 2 * kSecondNs;

// A window's end is written within this time.
constexpr double kEndPatienceS = 120.0;

// A window that waits for steps ends with this, found or not.
constexpr std::int64_t kLongestNs = 600 * kSecondNs;
constexpr std::chrono::milliseconds kLookEvery{500};

struct Options {
  std::string who;
  std::string duration;
  std::optional<int> step_count;
  std::string at;
  std::string level;
  std::string output;
  std::string max_size;
  bool force_overwrite = false;
  LiveOptions live;
  std::int64_t duration_ns = 0;
  std::int64_t begin_ns = 0;  // CLOCK_REALTIME; 0: at once
};

void declare(const CommandLine& app, Options& options) {
  app.add("PID", options.who, "a process, the launcher of several, or the name of a job; see synctrace ps", "PID|JOB")
      .required();
  app.add("--duration", options.duration, "end the window after this long, and report; without it: synctrace stop",
          "TIME");
  app.add_number("--step-count", options.step_count, 1, 1'000'000,
                 "end the window after so many steps (or after --duration), and report", "N");
  app.add("--at", options.at, "begin at this time of day, 14:30 or 14:30:05, or that long from now: +5s", "TIME");
  app.add("--level", options.level, "timeline (default) or syncs, as for run", "LEVEL").one_of({"timeline", "syncs"});
  app.add("-o,--output", options.output, "name of the trace, as for run (default: that of run)", "PATTERN");
  app.add_flag("-f,--force-overwrite", options.force_overwrite, "replace an existing trace");
  app.add("--max-size", options.max_size, "end the window when its trace has this size, e.g. 500M", "SIZE");
  declare_live_options(app, options.live);
}

std::int64_t realtime_now_ns() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * kSecondNs + now.tv_nsec;
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
  if (!options.duration.empty() &&
      (!format::parse_duration(options.duration, options.duration_ns) || options.duration_ns <= 0))
    return "--duration " + options.duration + ": expected " + format::kExpectedDuration + ".";
  if (options.step_count && options.duration_ns == 0) options.duration_ns = kLongestNs;
  std::uint64_t bytes = 0;
  if (!options.max_size.empty() && !format::parse_size(options.max_size, bytes))
    return "--max-size " + options.max_size + ": expected " + format::kExpectedSize + ".";
  options.max_size = options.max_size.empty() ? "" : std::to_string(bytes);
  if (options.at.empty()) return std::nullopt;
  std::int64_t from_now_ns = 0;
  if (options.at.front() == '+' && format::parse_duration(options.at.substr(1), from_now_ns)) {
    options.begin_ns = realtime_now_ns() + from_now_ns;
    return std::nullopt;
  }
  const std::optional<std::int64_t> when = next_time_of_day(options.at);
  if (!when) return "--at " + options.at + ": expected a time of day such as 14:30, or +5s.";
  options.begin_ns = *when;
  return std::nullopt;
}

std::string request_for(const Options& options, std::size_t processes) {
  std::string request = line_of(format::kKeyVerb, "start");
  std::int64_t begin_ns = options.begin_ns;
  if (begin_ns == 0 && processes > 1) begin_ns = realtime_now_ns() + kHeadStartNs;
  request += line_of(format::kKeyBeginNs, std::to_string(begin_ns));
  request += line_of(format::kKeyDurationNs, std::to_string(options.duration_ns));
  if (!options.level.empty()) request += line_of(format::kKeyLevel, options.level);
  if (!options.max_size.empty()) request += line_of(format::kKeyMaxSize, options.max_size);
  if (options.force_overwrite) request += line_of(format::kKeyForce, "1");
  if (!options.output.empty()) request += line_of(format::kKeyOutput, options.output);
  return request;
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
  const std::int64_t wait_ns = options.begin_ns - realtime_now_ns() - kHeadStartNs;
  if (options.begin_ns == 0 || wait_ns <= 0) return;
  say::info("synctrace", format_text("waiting for {} until the window begins.", duration_text(wait_ns + kHeadStartNs)));
  std::this_thread::sleep_for(std::chrono::nanoseconds(wait_ns));
}

double seconds_until_end(const Options& options) {
  const std::int64_t before_ns = options.begin_ns == 0 ? kHeadStartNs : options.begin_ns - realtime_now_ns();
  return static_cast<double>(before_ns + options.duration_ns) / 1e9 + kEndPatienceS;
}

}  // namespace

int cmd_start(int argc, char** argv) {
  const CommandLine app("Records a window of programs that were started with run --dormant.", kWho);
  Options options;
  declare(app, options);
  if (const auto end = app.parse(argc, argv)) return *end;
  std::optional<std::string> wrong = take_times(options);
  if (!wrong) wrong = take_live_options(options.live);
  if (!wrong && !options.output.empty()) {
    Result<CheckedOutput> output = check_output(options.output, options.force_overwrite);
    if (output)
      options.output = output.value().pattern;
    else
      wrong = output.error().message;
  }
  if (wrong) {
    say::error(kWho, *wrong);
    return kExitUsage;
  }
  std::string problem;
  const std::vector<DormantProcess> named = named_processes(options.who, problem);
  if (named.empty()) {
    say::error(kWho, problem + ".");
    return kExitUnusable;
  }
  wait_for_time(options);
  const std::vector<DormantProcess> started = request_all(named, request_for(options, named.size()), kWho);
  if (started.empty()) return kExitUnusable;
  const std::string what = started.size() == 1 ? format_text("process {}", started.front().pid)
                                               : format_text("{} processes", started.size());
  if (options.duration_ns == 0) {
    say::info("synctrace", format_text("recording {}. To end the window: synctrace stop {}", what, options.who));
  } else {
    say::info("synctrace", options.step_count
                               ? format_text("recording {} for {} steps, at most {}.", what, *options.step_count,
                                             duration_text(options.duration_ns))
                               : format_text("recording {} for {}.", what, duration_text(options.duration_ns)));
    StepCount steps(options, started.front());
    bool is_stopped = false;
    await_end(started, seconds_until_end(options), [&] {
      if (is_stopped || !steps.is_reached()) return;
      is_stopped = true;
      request_all(started, line_of(format::kKeyVerb, "stop"), kWho);
    });
    if (const int status = finish_windows(started, options.live.run, kWho); status != kExitOk) return status;
  }
  return started.size() == named.size() ? kExitOk : kExitUnusable;
}

}  // namespace synctrace::cli
