// SPDX-License-Identifier: Apache-2.0
// When the timeline is recorded. Outside its windows only waits, copies, allocations and NVTX go on, or not even waits
// and copies (--only-windows). A window opens and closes by the clock (drain thread) or by a range of the program's own
// (its threads); each change becomes a Window event of the thread that made it, at the time it made it.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <string_view>

#include "capture/process/settings.h"

namespace synctrace::capture {

enum class Sources : std::uint8_t;  // cupti_switch.h

// The latest windows. Records of GPU work come outside of them, too, and up to a second late.
class RecentWindows {
 public:
  void open(std::int64_t time_ns) noexcept;
  void close(std::int64_t time_ns) noexcept;

  // Whether work from begin to end ran in a window, in part at least. Yes where the window is too long ago to be
  // remembered.
  bool touch(std::int64_t begin_ns, std::int64_t end_ns) const noexcept;

 private:
  static constexpr std::uint32_t kRemembered = 64;

  struct Window {
    std::int64_t begin_ns = 0;
    std::int64_t end_ns = 0;
  };

  Window windows_[kRemembered];  // a ring
  std::uint32_t count_ = 0;
};

class WindowControl {
 public:
  // Before any event of a trace. Opens the first window when nothing is to be waited for.
  void start(const Settings& settings, std::int64_t start_ns) noexcept;

  // Drain thread, a few times a second or more: opens and closes by the clock.
  void tick(std::int64_t now_ns) noexcept;

  // Program's threads. cudaProfilerStart or ...Stop has returned.
  void on_profiler_call(bool started) noexcept;

  // Program's threads, on NVTX push, start or mark: does this text open a range that we watch? If so, tell range_begin
  // now and range_end when the range ends.
  bool watches(std::string_view text) const noexcept;
  void range_begin() noexcept;
  void range_end() noexcept;
  void range_mark() noexcept;  // a mark is where one step ends and the next begins

  // Drain thread: the last window of --duration is over.
  bool is_over() noexcept;

  // Drain thread: what the windows were, as of now.
  RecentWindows recent() noexcept;

  // The file is full, or recording was given up: no window opens any more.
  void close_for_good(std::string_view reason) noexcept;

  // Drain thread, at the end: true when windows were asked for and none ever opened.
  bool never_opened() const noexcept { return wants_timeline_ && !opened_once_.load(std::memory_order_relaxed); }

 private:
  void set_open(bool open, const char* reason) noexcept;
  bool clock_allows(std::int64_t now_ns) const noexcept;
  void update(const char* reason) noexcept;

  bool is_started() const noexcept { return started_.load(std::memory_order_acquire); }

  // Constant while a trace is recorded: the other threads are there before start() is.
  std::atomic<bool> started_{false};
  std::int64_t start_ns_ = 0;
  std::int64_t delay_ns_ = 0;
  std::int64_t duration_ns_ = 0;
  format::DutyCycle duty_;
  format::CaptureRange range_;
  const char* step_marker_ = nullptr;
  bool has_window_ = false;
  bool wants_timeline_ = false;
  bool opens_ = false;  // windows: of the timeline, or a live one of level syncs, which leaves no record of its own
  Sources outside_{};   // the windows
  // Guards all below. Taken by program threads only when a watched range or profiler call passes by.
  pthread_mutex_t lock_ = PTHREAD_MUTEX_INITIALIZER;
  bool open_ = false;
  RecentWindows recent_;
  bool closed_for_good_ = false;
  bool clock_allows_ = false;
  std::uint32_t open_ranges_ = 0;
  std::uint64_t step_count_ = 0;
  bool steps_open_ = false;
  std::atomic<bool> opened_once_{false};
};

// The recorder's.
[[gnu::visibility("hidden")]] extern WindowControl& window_control;

}  // namespace synctrace::capture
