// SPDX-License-Identifier: Apache-2.0
#include "live/live_window.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <thread>
#include <utility>

#include "base/format_text.h"
#include "contract/live_messages.h"
#include "exit_status.h"
#include "messages.h"
#include "run/finish_run.h"
#include "run/trace_manifest.h"

namespace synctrace::cli {
namespace {

// The first window of a process loads CUPTI; the end of one writes what is left.
constexpr int kPatienceMs = 60'000;
constexpr int kStatePatienceMs = 5'000;
constexpr std::chrono::milliseconds kBetweenLooks{100};
constexpr std::chrono::minutes kEndPatience{2};

bool has_open_window(const std::string& status) {
  const std::string_view state = format::value_of(status, format::kKeyState);
  return state == "recording" || state == "stopping";
}

const char* why_silent(int pid) {
  return is_living_process(std::to_string(pid)) ? " did not answer; see synctrace ps." : " has ended.";
}

std::vector<DormantProcess> request_all(std::span<const DormantProcess> processes, const std::string& request,
                                        const char* who) {
  const std::vector<std::string> answers = ask_all(processes, request, kPatienceMs);
  std::vector<DormantProcess> done;
  for (std::size_t i = 0; i < processes.size(); ++i) {
    const std::string_view refused = format::value_of(answers[i], format::kKeyError);
    if (answers[i].empty())
      say::error(who, format_text("process {}{}", processes[i].pid, why_silent(processes[i].pid)));
    else if (!refused.empty())
      say::error(who, format_text("process {}: {}.", processes[i].pid, refused));
    else
      done.push_back({processes[i].pid, processes[i].socket, answers[i]});
  }
  return done;
}

}  // namespace

std::int64_t realtime_now_ns() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

std::vector<DormantProcess> open_windows(std::span<const DormantProcess> processes, const WindowRequest& request,
                                         const char* who) {
  const bool is_moment = request.begin_ns == 0 && processes.size() > 1;
  const std::int64_t begin_ns = is_moment ? realtime_now_ns() + kHeadStartNs : request.begin_ns;
  std::string text = line_of(format::kKeyVerb, "start") + line_of(format::kKeyBeginNs, std::to_string(begin_ns)) +
                     line_of(format::kKeyDurationNs, std::to_string(request.length_ns));
  if (!request.level.empty()) text += line_of(format::kKeyLevel, request.level);
  if (!request.max_size.empty()) text += line_of(format::kKeyMaxSize, request.max_size);
  if (!request.output.empty()) text += line_of(format::kKeyOutput, request.output);
  if (request.force_overwrite) text += line_of(format::kKeyForce, "1");
  return request_all(processes, text, who);
}

std::vector<DormantProcess> close_windows(std::span<const DormantProcess> processes, const char* who) {
  return request_all(processes, line_of(format::kKeyVerb, "stop"), who);
}

void await_end(std::span<const DormantProcess> processes, std::int64_t until_end_ns,
               const std::function<void()>& while_waiting) {
  const auto deadline =
      std::chrono::steady_clock::now() + kEndPatience + std::chrono::nanoseconds(kHeadStartNs + until_end_ns);
  while (std::chrono::steady_clock::now() < deadline) {
    const std::vector<std::string> answers = ask_all(processes, line_of(format::kKeyVerb, "status"), kStatePatienceMs);
    if (std::none_of(answers.begin(), answers.end(), has_open_window)) return;
    if (while_waiting) while_waiting();
    std::this_thread::sleep_for(kBetweenLooks);
  }
}

int finish_windows(std::span<const DormantProcess> processes, const RunOptions& options, const char* who) {
  std::vector<std::string> traces;
  for (const DormantProcess& process : processes) {
    if (std::string file = process.value(format::kKeyFile); !file.empty()) traces.push_back(std::move(file));
  }
  const FinishedRun finished = finish_run(options, traces, {});
  if (!finished.traces.empty()) return kExitOk;
  say::error(who, "no trace was written.");
  return kExitUnusable;
}

}  // namespace synctrace::cli
