// SPDX-License-Identifier: Apache-2.0
#include "capture/recorder/live_windows.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>

#include "capture/events/thread_buffer.h"
#include "capture/process/clocks.h"
#include "capture/process/notice.h"
#include "capture/process/own_descriptors.h"
#include "capture/recorder/recorder.h"
#include "contract/launch_contract.h"

namespace synctrace::capture {
namespace {

// How often the listener looks whether only the recorder is left of the process.
constexpr int kLookEveryMs = 1000;

// That live as long as the process.
constexpr std::uint32_t kOwnThreads = 2;

// The first window loads CUPTI.
constexpr std::int64_t kStartPatienceNs = 20'000'000'000;
constexpr std::int64_t kStopPatienceNs = 20'000'000'000;
constexpr std::int64_t kEndPatienceNs = 2'000'000'000;
constexpr std::int64_t kThreadPatienceNs = 15'000'000'000;  // one may be reading the tables of large libraries

}  // namespace

void LiveWindows::set(State state) noexcept {
  state_.store(static_cast<std::uint32_t>(state), std::memory_order_release);
  futex_wake(state_);
}

bool LiveWindows::wait_while(State state, std::int64_t patience_ns) noexcept {
  const std::int64_t deadline_ns = now_ns() + patience_ns;
  while (this->state() == state && now_ns() < deadline_ns && !is_ending_.load(std::memory_order_acquire)) {
    futex_wait(state_, static_cast<std::uint32_t>(state), deadline_ns - now_ns());
  }
  return this->state() != state;
}

// The same for the thread that ends the process.
void LiveWindows::outlast(State state, std::int64_t deadline_ns) noexcept {
  while (this->state() == state && now_ns() < deadline_ns)
    futex_wait(state_, static_cast<std::uint32_t>(state), deadline_ns - now_ns());
}

void LiveWindows::start(const Settings& settings, bool is_awaited) noexcept {
  environment_.take(environ);
  settings_ = settings;
  for (const char** text : {&settings_.output, &settings_.cupti_path, &settings_.manifest, &settings_.step_marker})
    *text = environment_.kept(*text);
  read_process_identity(environment(), identity_);
  if (!helper_threads.start(window_) || !helper_threads.start(listener_))
    return notice("no thread could be made; no window can be recorded");
  if (!is_awaited) return;
  // Only this thread can reach the program's stderr.
  constexpr std::int64_t kPatienceNs = 1'000'000'000;
  futex_wait(is_listening_, 0, kPatienceNs);
  if (is_listening_.load(std::memory_order_acquire) == 0) return;
  if (no_socket_ != nullptr) return notice("--dormant: %s; no window can be recorded", no_socket_);
  remark("dormant; to record 10 s of it: synctrace start %d --duration 10s", getpid());
}

void LiveWindows::listen() noexcept {
  no_socket_ = has_own_descriptors() ? socket_.open(getpid()) : "the system refuses a thread descriptors of its own";
  is_listening_.store(1, std::memory_order_release);
  futex_wake(is_listening_);
  if (no_socket_ != nullptr) return;
  if (is_ending_.load(std::memory_order_acquire)) return socket_.remove_name();
  while (!is_ending_.load(std::memory_order_acquire)) {
    socket_.serve(kLookEveryMs, [](std::string_view request, format::MessageWriter& answer) noexcept {
      recorder.live.answer(request, answer);
    });
    if (state() != State::kDormant || !only_helpers_are_left()) continue;
    is_ending_.store(true, std::memory_order_release);
    futex_wake(state_);
  }
  socket_.remove_name();
}

void LiveWindows::answer(std::string_view request, format::MessageWriter& answer) noexcept {
  const std::string_view verb = format::value_of(request, format::kKeyVerb);
  if (verb == "status") return describe(answer);
  if (verb == "start") return open(request, answer);
  if (verb == "stop") return stop(answer);
  answer.add(format::kKeyError, "no such request");
}

void LiveWindows::describe(format::MessageWriter& answer) noexcept {
  const State now = state();
  answer.add(format::kKeyState, now == State::kDormant    ? "dormant"
                                : now == State::kStopping ? "stopping"
                                                          : "recording");
  answer.add(format::kKeyPid, identity_.facts.process_id);
  answer.add(format::kKeyProgram, identity_.program.text);
  answer.add(format::kKeyVersion, SYNCTRACE_VERSION);
  if (identity_.facts.rank.known()) {
    answer.add(format::kKeyRank, identity_.facts.rank.rank);
    answer.add(format::kKeyWorldSize, identity_.facts.rank.world_size);
  }
  if (const JobName job = find_job(environment()); job.id != nullptr) answer.add(format::kKeyJob, job.id);
  answer.add(format::kKeyWindows, windows_);
  if (now == State::kStarting) return;  // the file has no name yet
  if (file_[0] != '\0') answer.add(format::kKeyFile, file_.data());
  if (now == State::kRecording)
    answer.add(format::kKeySinceNs, std::max<std::int64_t>(0, now_ns() - opened_ns_.load(std::memory_order_relaxed)));
}

// Null, or what is wrong with the request: a literal.
const char* LiveWindows::take_request(std::string_view request, Settings& s) noexcept {
  s.is_live = s.only_windows = true;
  s.delay_ns = 0;
  s.duty = {};
  s.range = {};
  const std::string_view level = format::value_of(request, format::kKeyLevel);
  if (!level.empty() && !format::parse_level(level, s.level)) return "no such level";
  std::int64_t bytes = 0;
  if (!format::number_of(request, format::kKeyDurationNs, s.duration_ns) ||
      !format::number_of(request, format::kKeyBeginNs, s.begin_realtime_ns) ||
      !format::number_of(request, format::kKeyMaxSize, bytes))
    return "a number of the request is none";
  if (bytes != 0) s.max_file_bytes = static_cast<std::uint64_t>(bytes);
  s.force_overwrite = s.force_overwrite || format::value_of(request, format::kKeyForce) == "1";
  const std::string_view output = format::value_of(request, format::kKeyOutput);
  if (output.empty()) return nullptr;
  if (output.front() != '/' || output.size() >= output_.size()) return "the file's name is not absolute, or too long";
  output_[output.copy(output_.data(), output.size())] = '\0';
  s.output = output_.data();
  return nullptr;
}

// The threads of the last window. Mostly they end within a tenth of a second.
bool LiveWindows::others_have_ended() noexcept {
  const std::int64_t deadline_ns = now_ns() + kThreadPatienceNs;
  constexpr timespec kPause{0, 1'000'000};
  while (helper_threads.count() > kOwnThreads && now_ns() < deadline_ns) nanosleep(&kPause, nullptr);
  return helper_threads.count() == kOwnThreads;
}

void LiveWindows::open(std::string_view request, format::MessageWriter& answer) noexcept {
  if (state() != State::kDormant) {
    answer.add(format::kKeyError, "a window is being recorded already");
    return describe(answer);
  }
  Settings settings = settings_;
  if (const char* wrong = take_request(request, settings)) return answer.add(format::kKeyError, wrong);
  if (!others_have_ended()) return answer.add(format::kKeyError, "the threads of the last window have not ended yet");
  helper_threads.resume();
  recorder.make_session(settings);
  refusal_[0] = '\0';
  set(State::kStarting);
  if (!wait_while(State::kStarting, kStartPatienceNs)) return answer.add(format::kKeyError, "it has not begun yet");
  if (refusal_[0] != '\0') return answer.add(format::kKeyError, refusal_.data());
  ++windows_;
  describe(answer);
}

void LiveWindows::stop(format::MessageWriter& answer) noexcept {
  if (state() == State::kDormant) return answer.add(format::kKeyError, "no window is being recorded");
  recorder.stop_session("stop");
  wait_while(State::kRecording, kStopPatienceNs);
  wait_while(State::kStopping, kStopPatienceNs);
  describe(answer);
}

void LiveWindows::wait_for_windows() noexcept {
  mark_recorder_thread();
  constexpr std::int64_t kLongNs = 3'600'000'000'000;  // it is woken
  while (!is_ending_.load(std::memory_order_acquire)) {
    if (state() == State::kStarting) record();
    wait_while(State::kDormant, kLongNs);
  }
}

// One window, from the first call of CUPTI to the last.
void LiveWindows::record() noexcept {
  collect_notices(refusal_);
  const bool records = recorder.begin_session();
  collect_notices({});
  if (!records) {
    if (refusal_[0] == '\0') std::snprintf(refusal_.data(), refusal_.size(), "nothing can be recorded");
    recorder.end_session(!is_ending_.load(std::memory_order_acquire));
    return set(State::kDormant);
  }
  refusal_[0] = '\0';
  std::snprintf(file_.data(), file_.size(), "%s", recorder.session_path());
  opened_ns_.store(now_ns(), std::memory_order_relaxed);
  set(State::kRecording);
  recorder.record_session();
  set(State::kStopping);
  // Who reads the program's stderr has not asked for the window, and who has may have taken its folder away.
  std::array<char, 256> unsaid;
  collect_notices(unsaid);
  recorder.end_session(!is_ending_.load(std::memory_order_acquire));
  collect_notices({});
  set(State::kDormant);
}

void LiveWindows::end_at_exit() noexcept {
  is_ending_.store(true, std::memory_order_release);
  futex_wake(state_);
  socket_.remove_name();
  const std::int64_t deadline_ns = now_ns() + kEndPatienceNs;
  outlast(State::kStarting, deadline_ns);
  if (state() == State::kRecording) recorder.stop_session("exit");
  outlast(State::kStopping, deadline_ns);
}

}  // namespace synctrace::capture
