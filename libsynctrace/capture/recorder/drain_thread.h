// SPDX-License-Identifier: Apache-2.0
// The thread that writes the trace: empties the rings and CUPTI's buffers into the trace, keeps the file at most half a
// second behind, opens and closes windows by the clock. All signals are blocked in it: they are the program's.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "capture/cupti/api_names.h"
#include "capture/events/trace_stream.h"
#include "capture/process/file_thread.h"
#include "capture/process/helper_thread.h"
#include "capture/process/settings.h"
#include "capture/samples/child_looks.h"
#include "capture/stacks/module_watch.h"
#include "capture/stacks/stack_records.h"

namespace synctrace::capture {

class DrainThread {
 public:
  DrainThread(TraceStream& out, FileThread& files, ModuleWatch& watch, const Settings& settings) noexcept
      : out_(out), files_(files), watch_(watch), settings_(settings) {}

  // False when no thread could be made.
  [[nodiscard]] bool start() noexcept;

  // Both in start()'s stead, on a thread of the recorder's own that may call CUPTI: the first returns when stop() is
  // called, when the process has nothing left but the recorder, or when a live window is over; the second follows it.
  void drain_until_end() noexcept;
  void close_trace() noexcept;

  // Any thread, once: writes what there is, closes the trace and ends the thread. Waits until that is done, but not
  // longer than two seconds without progress: a hanging disk or CUPTI never holds the program's exit. True when done.
  bool stop(const char* reason) noexcept;

  // Any thread: the process uses a GPU from here on. Waits until the trace's head is on disk, at most 50 ms: a program
  // that ends without a warning leaves a file.
  void await_file() noexcept;

 private:
  void run() noexcept;
  bool is_window_over() noexcept;
  bool drain_once() noexcept;
  template <class Record>
  void note_late_context(const Record& record) noexcept;
  void write_event(const struct EventView& event) noexcept;
  void write_samples(const struct SampledRun& run) noexcept;
  void every_half_second(std::int64_t now_ns) noexcept;
  void look_at_children() noexcept;
  void write_thread_names() noexcept;
  void report_losses() noexcept;
  void write_number(std::string_view key, std::uint64_t value) noexcept;
  void write_own_costs() noexcept;
  void enforce_max_size() noexcept;
  void finish() noexcept;
  void sleep(bool busy) noexcept;

  TraceStream& out_;
  FileThread& files_;
  ModuleWatch& watch_;
  const Settings& settings_;
  StackRecords stacks_{out_};
  ApiNames api_names_{out_};
  bool has_calls_ = false;          // the process called CUDA
  std::uint64_t early_events_ = 0;  // left out before it did
  ChildLooks children_;
  const Helper helper_{"synctrace", false, false, [](void* self) noexcept { static_cast<DrainThread*>(self)->run(); },
                       this};
  std::int64_t next_upkeep_ns_ = 0;
  std::uint32_t sleep_us_ = 0;
  std::uint32_t reported_unknown_calls_ = 0;
  std::uint64_t reported_range_overflow_ = 0;
  std::uint64_t reported_names_ = 0;
  bool window_open_ = false;
  std::int64_t window_time_ns_ = 0;  // the time of the event that opened or closed it
  bool size_reached_ = false;
  const char* end_reason_ = "exit";
  // Words for futex: 0 until the event.
  std::atomic<std::uint32_t> stop_requested_{0};
  std::atomic<std::uint32_t> done_{0};
  std::atomic<std::uint32_t> progress_{0};
  std::atomic<std::uint32_t> has_file_{0};
  std::atomic<bool> uses_gpu_{false};
};

}  // namespace synctrace::capture
