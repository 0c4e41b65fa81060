// SPDX-License-Identifier: Apache-2.0
// Verb `top`: the first screen of a program that runs, again and again, each of a short window.
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <unistd.h>

#include "base/format_text.h"
#include "base/quantity_text.h"
#include "command_line.h"
#include "commands.h"
#include "contract/live_messages.h"
#include "contract/option_values.h"
#include "exit_status.h"
#include "live/dormant_processes.h"
#include "live/live_window.h"
#include "messages.h"
#include "report/report_entry.h"
#include "run/trace_manifest.h"

namespace synctrace::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kWho = "synctrace top";
constexpr const char* kClearScreen = "\x1b[H\x1b[2J";
constexpr std::int64_t kHeadStartNs = 2'000'000'000;  // as for start: several processes begin together
constexpr double kPatienceS = 120.0;

struct Options {
  std::string who;
  std::string window = "1s";
  std::string every = "10s";
  std::optional<int> count;
  StackOptions stacks;
  std::int64_t window_ns = 0;
  std::int64_t every_ns = 0;
};

constinit std::atomic<bool> is_ended{false};

// Windows end by themselves, so only the files are left to be removed.
void end_on_signals() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, [](int) { is_ended.store(true); });
}

// The traces of the screen that is shown: in the folder of the sockets, which the programs can write and nobody else
// reads. The screen names them, so they stay until the next one.
class Traces {
 public:
  explicit Traces(const DormantProcess& first)
      : folder_(fs::path(first.socket).parent_path() / format_text("top-{}", getpid())) {}
  ~Traces() {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  Traces(const Traces&) = delete;
  Traces& operator=(const Traces&) = delete;

  std::string pattern(int number) const { return (folder_ / format_text("%p.window{}", number)).string(); }

  void replace(std::vector<std::string> files) {
    std::error_code ignored;
    for (const std::string& file : shown_) fs::remove(file, ignored);
    shown_ = std::move(files);
  }

 private:
  fs::path folder_;
  std::vector<std::string> shown_;
};

std::optional<std::string> take(Options& options) {
  const auto is_duration = [](const std::string& text, std::int64_t& ns) {
    return format::parse_duration(text, ns) && ns > 0;
  };
  if (!is_duration(options.window, options.window_ns))
    return "--window " + options.window + ": expected " + format::kExpectedDuration + ".";
  if (!is_duration(options.every, options.every_ns))
    return "--every " + options.every + ": expected " + format::kExpectedDuration + ".";
  if (options.every_ns < options.window_ns) return "--every is shorter than --window; windows follow each other.";
  return take_stack_options(options.stacks);
}

std::string request_for(const Options& options, const std::string& pattern, std::size_t processes) {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  const std::int64_t begin_ns = processes > 1 ? now.tv_sec * 1'000'000'000 + now.tv_nsec + kHeadStartNs : 0;
  return line_of(format::kKeyVerb, "start") + line_of(format::kKeyOutput, pattern) +
         line_of(format::kKeyDurationNs, std::to_string(options.window_ns)) +
         line_of(format::kKeyBeginNs, std::to_string(begin_ns));
}

// One window and its screen. False when no process can be recorded any more.
bool show_one(const std::vector<DormantProcess>& processes, const Options& options, Traces& traces, int number) {
  const std::vector<DormantProcess> started =
      request_all(processes, request_for(options, traces.pattern(number), processes.size()), kWho);
  if (started.empty()) return false;
  await_end(started, kPatienceS, {});
  std::vector<std::string> files;
  for (const DormantProcess& process : started) {
    std::string file = process.value(format::kKeyFile);
    if (settle_trace(file, monotonic_ns()) != TraceState::kMissing) files.push_back(std::move(file));
  }
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  char clock[16];
  localtime_r(&now, &local);
  std::strftime(clock, sizeof(clock), "%H:%M:%S", &local);
  const std::string head = format_text("{}{}  window {}, {} long, one every {}; Ctrl-C ends this, not the program\n",
                                       isatty(STDOUT_FILENO) != 0 ? kClearScreen : "", clock, number,
                                       duration_text(options.window_ns), duration_text(options.every_ns));
  std::fwrite(head.data(), 1, head.size(), stdout);
  if (!files.empty()) print_report(files, ReportStyle::kShort, options.stacks, {}, stdout);
  std::fflush(stdout);
  traces.replace(std::move(files));
  return true;
}

void pause_until(std::chrono::steady_clock::time_point end) {
  constexpr std::chrono::milliseconds kTick{50};
  while (!is_ended.load() && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(kTick);
}

}  // namespace

int cmd_top(int argc, char** argv) {
  const CommandLine app("Shows, again and again, what makes a running program wait for the GPU.", kWho);
  Options options;
  app.add("WHO", options.who, "a process, the launcher of several, or the name of a job; see synctrace ps", "PID|JOB")
      .required();
  app.add("--window", options.window, "how long each window is (default 1s)", "TIME");
  app.add("--every", options.every, "how often one begins (default 10s)", "TIME");
  app.add_number("-n,--count", options.count, 1, 1'000'000, "end after so many windows", "N");
  declare_code_options(app, options.stacks);
  declare_name_options(app, options.stacks);
  if (const auto end = app.parse(argc, argv)) return *end;
  if (const std::optional<std::string> wrong = take(options)) {
    say::error(kWho, *wrong);
    return kExitUsage;
  }
  options.stacks.names.how.roots = SourceRoots::everywhere();  // the program runs here
  std::string problem;
  const std::vector<DormantProcess> named = named_processes(options.who, problem);
  if (named.empty()) {
    say::error(kWho, problem + ".");
    return kExitUnusable;
  }
  end_on_signals();
  Traces traces(named.front());
  for (int number = 1; !is_ended.load() && number <= options.count.value_or(number); ++number) {
    const auto next = std::chrono::steady_clock::now() + std::chrono::nanoseconds(options.every_ns);
    if (!show_one(named, options, traces, number)) return kExitUnusable;
    if (number < options.count.value_or(number + 1)) pause_until(next);
  }
  return kExitOk;
}

}  // namespace synctrace::cli
