// SPDX-License-Identifier: Apache-2.0
// Recording on request (`run --dormant`). CUPTI is not loaded, and two threads sleep: one at the control socket, with
// descriptors of its own, and one with the program's, which CUPTI needs. Each request to start makes a window: a trace
// of its own, recorded by the second thread and others that end with it. CUPTI stays, and what it goes on recording
// behind a window of level timeline is thrown away (docs/decisions/0048). One window at a time.
//
//   dormant -> starting -> recording -> stopping -> dormant
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

#include "capture/live/control_socket.h"
#include "capture/process/environment_copy.h"
#include "capture/process/helper_thread.h"
#include "capture/process/settings.h"
#include "capture/recorder/process_facts.h"
#include "contract/live_messages.h"

namespace synctrace::capture {

class LiveWindows {
 public:
  // Once: from here on windows can be asked for, with these settings but for what a request says otherwise. Where
  // `is_awaited` it returns when that is sure, and says in one line how, or why not.
  void start(const Settings& settings, bool is_awaited) noexcept;

  // At the end of the process: closes the trace of an open window. Waits for that, but not long.
  void end_at_exit() noexcept;

  // That of the process when it started.
  const char* const* environment() const noexcept { return environment_.entries(); }

 private:
  enum class State : std::uint32_t { kDormant, kStarting, kRecording, kStopping };

  void listen() noexcept;
  void answer(std::string_view request, format::MessageWriter& answer) noexcept;
  void describe(format::MessageWriter& answer) noexcept;
  void open(std::string_view request, format::MessageWriter& answer) noexcept;
  void stop(format::MessageWriter& answer) noexcept;
  const char* take_request(std::string_view request, Settings& settings) noexcept;
  bool others_have_ended() noexcept;
  void wait_for_windows() noexcept;
  void record() noexcept;

  State state() const noexcept { return static_cast<State>(state_.load(std::memory_order_acquire)); }
  void set(State state) noexcept;
  bool wait_while(State state, std::int64_t patience_ns) noexcept;
  void outlast(State state, std::int64_t deadline_ns) noexcept;

  const Helper listener_{"synctrace-ctl", false, true,
                         [](void* self) noexcept { static_cast<LiveWindows*>(self)->listen(); }, this};
  const Helper window_{"synctrace", false, false,
                       [](void* self) noexcept { static_cast<LiveWindows*>(self)->wait_for_windows(); }, this};
  ControlSocket socket_;
  EnvironmentCopy environment_;
  Settings settings_;                           // each window's
  ProcessIdentity identity_;                    // for answers
  std::atomic<std::uint32_t> state_{0};         // a State, and a futex
  std::atomic<std::uint32_t> is_listening_{0};  // 0 until it is known whether it can; a futex
  const char* no_socket_ = nullptr;             // why it cannot
  std::atomic<bool> is_ending_{false};          // the process
  std::atomic<std::int64_t> opened_ns_{0};
  std::uint32_t windows_ = 0;
  // Written by whoever moves the state on, read behind it.
  std::array<char, 4096> output_{};  // pattern of the window
  std::array<char, 4200> file_{};    // the last window's; empty: there was none
  std::array<char, 512> refusal_{};  // why the last one was not opened
};

}  // namespace synctrace::capture
