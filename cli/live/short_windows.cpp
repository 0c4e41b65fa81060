// SPDX-License-Identifier: Apache-2.0
#include "live/short_windows.h"

#include <atomic>
#include <csignal>
#include <ctime>
#include <system_error>
#include <thread>
#include <utility>

#include <unistd.h>

#include "base/format_text.h"
#include "contract/live_messages.h"
#include "run/trace_manifest.h"

namespace synctrace::cli {
namespace {

namespace fs = std::filesystem;

constinit std::atomic<bool> asked_to_end{false};

}  // namespace

std::string clock_text() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  char text[16];
  localtime_r(&now, &local);
  std::strftime(text, sizeof(text), "%H:%M:%S", &local);
  return text;
}

void end_on_signals() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, [](int) { asked_to_end.store(true); });
}

bool is_asked_to_end() { return asked_to_end.load(); }

void pause_until(std::chrono::steady_clock::time_point end) {
  constexpr std::chrono::milliseconds kTick{50};
  while (!is_asked_to_end() && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(kTick);
}

std::optional<std::vector<std::string>> record_window(const std::vector<DormantProcess>& processes,
                                                      const WindowRequest& request, const char* who) {
  const std::vector<DormantProcess> started = open_windows(processes, request, who);
  if (started.empty()) return std::nullopt;
  await_end(started, request.length_ns);
  std::vector<std::string> files;
  for (const DormantProcess& process : started) {
    std::string file = process.value(format::kKeyFile);
    if (settle_trace(file, monotonic_ns()) != TraceState::kMissing) files.push_back(std::move(file));
  }
  return files;
}

ShortWindows::ShortWindows(const DormantProcess& first, const char* who)
    : folder_(fs::path(first.socket).parent_path() / format_text("looks-{}", getpid())), who_(who) {}

ShortWindows::~ShortWindows() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

std::optional<std::vector<std::string>> ShortWindows::record(const std::vector<DormantProcess>& processes,
                                                             std::int64_t length_ns, const std::string& level) {
  WindowRequest request;
  request.length_ns = length_ns;
  request.level = level;
  request.output = (folder_ / format_text("%p.window{}", ++count_)).string();
  return record_window(processes, request, who_);
}

void ShortWindows::replace(std::vector<std::string> files) {
  std::error_code ignored;
  for (const std::string& file : kept_) fs::remove(file, ignored);
  kept_ = std::move(files);
}

}  // namespace synctrace::cli
