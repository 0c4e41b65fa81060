// SPDX-License-Identifier: Apache-2.0
// Verb `top`: the first screen of a program that runs, again and again, each of a short window.
#include <chrono>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include "base/format_text.h"
#include "base/quantity_text.h"
#include "command_line.h"
#include "commands.h"
#include "exit_status.h"
#include "live/dormant_processes.h"
#include "live/live_options.h"
#include "live/short_windows.h"
#include "messages.h"
#include "report/report_entry.h"

namespace synctrace::cli {
namespace {

constexpr const char* kWho = "synctrace top";
constexpr const char* kClearScreen = "\x1b[H\x1b[2J";

struct Options {
  std::string who;
  std::string window = "1s";
  std::string every = "10s";
  std::optional<int> count;
  std::string level;
  StackOptions stacks;
  std::int64_t window_ns = 0;
  std::int64_t every_ns = 0;
};

std::optional<std::string> take(Options& options) {
  if (auto wrong = take_duration("--window", options.window, options.window_ns)) return wrong;
  if (auto wrong = take_duration("--every", options.every, options.every_ns)) return wrong;
  if (options.every_ns < options.window_ns) return "--every is shorter than --window; windows follow each other.";
  return take_stack_options(options.stacks);
}

// One window and its screen. False when no process can be recorded any more.
bool show_one(const std::vector<DormantProcess>& processes, const Options& options, ShortWindows& windows, int number) {
  std::optional<std::vector<std::string>> files = windows.record(processes, options.window_ns, options.level);
  if (!files) return false;
  const std::string head = format_text("{}{}  window {}, {} long, one every {}; Ctrl-C ends this, not the program\n",
                                       isatty(STDOUT_FILENO) != 0 ? kClearScreen : "", clock_text(), number,
                                       duration_text(options.window_ns), duration_text(options.every_ns));
  std::fwrite(head.data(), 1, head.size(), stdout);
  if (!files->empty()) print_report(*files, ReportStyle::kShort, options.stacks, {}, stdout);
  std::fflush(stdout);
  windows.replace(std::move(*files));
  return true;
}

}  // namespace

int cmd_top(int argc, char** argv) {
  const CommandLine app("Shows, again and again, what makes a running program wait for the GPU.", kWho);
  Options options;
  declare_processes(app, options.who);
  app.add("--window", options.window, "how long each window is (default 1s)", "TIME");
  app.add("--every", options.every, "how often one begins (default 10s)", "TIME");
  app.add_number("-n,--count", options.count, 1, 1'000'000, "end after so many windows", "N");
  declare_level(app, options.level);
  declare_code_options(app, options.stacks);
  declare_name_options(app, options.stacks);
  if (const auto end = app.parse(argc, argv)) return *end;
  if (const std::optional<std::string> wrong = take(options)) {
    say::error(kWho, *wrong);
    return kExitUsage;
  }
  options.stacks.names.how.roots = SourceRoots::everywhere();  // the program runs here
  const std::vector<DormantProcess> named = find_processes(options.who, kWho);
  if (named.empty()) return kExitUnusable;
  end_on_signals();
  ShortWindows windows(named.front(), kWho);
  for (int number = 1; !is_asked_to_end() && number <= options.count.value_or(number); ++number) {
    const auto next = std::chrono::steady_clock::now() + std::chrono::nanoseconds(options.every_ns);
    if (!show_one(named, options, windows, number)) return kExitUnusable;
    if (number < options.count.value_or(number + 1)) pause_until(next);
  }
  return kExitOk;
}

}  // namespace synctrace::cli
