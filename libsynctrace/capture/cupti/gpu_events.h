// SPDX-License-Identifier: Apache-2.0
// CUPTI's activity buffers -> GPU-side records. CUPTI asks for buffers on any thread, the program's included, with a
// lock of its own held: there we only take one from a fixed pool or give one to the drain thread, which decodes it.
// The pool is never unmapped: CUPTI may write into a buffer until the process ends.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "capture/cupti/window.h"
#include "capture/events/trace_stream.h"

namespace synctrace::capture {

// CUPTI 13 fills one buffer per thread that issues work, so many small ones serve more threads than few large ones:
// 256 KiB hold 1,200 kernel records, 4 ms at the highest launch rate measured, and 64 threads need 16 MiB.
inline constexpr std::size_t kActivityBufferBytes = 256U << 10;

class GpuEvents {
 public:
  // Registers buffers and clock with CUPTI. Before any kind is enabled. `budget_bytes` bounds the
  // pool where CUPTI can be refused a buffer. False when CUPTI refused.
  [[nodiscard]] bool start(std::size_t budget_bytes) noexcept;

  // Behind a live window, until start(): nobody drains, and buffers that are complete become free at once.
  void rest() noexcept { rests_.store(true, std::memory_order_relaxed); }

  // Called at the first context, before anything else is done about it.
  void set_context_hook(void (*hook)() noexcept) noexcept { context_hook_ = hook; }

  // Any thread: a context exists.
  void note_context() noexcept {
    if (has_context_.load(std::memory_order_relaxed)) return;
    if (context_hook_ != nullptr) context_hook_();
    has_context_.store(true, std::memory_order_relaxed);
  }

  // Any thread. A stream's capture began or ended; one that could not begin has not, one that failed has ended.
  void note_capture(bool begins, std::uint32_t status) noexcept {
    if (begins && status == 0) captures_.fetch_add(1, std::memory_order_relaxed);
    if (begins) return;
    std::uint32_t open = captures_.load(std::memory_order_relaxed);
    while (open != 0 && !captures_.compare_exchange_weak(open, open - 1, std::memory_order_relaxed)) continue;
  }
  bool is_capturing() const noexcept { return captures_.load(std::memory_order_relaxed) != 0; }
  // Any thread: CUPTI reported an error that it does not survive.
  void note_error() noexcept { errors_.fetch_add(1, std::memory_order_relaxed); }

  // Drain thread only: decodes the buffers that CUPTI has completed, oldest first, into `out`, without the records that
  // touch no window; with `discard` they are only given back. Returns the number of buffers.
  std::size_t drain(TraceStream& out, bool discard) noexcept;

  // Drain thread only: asks CUPTI for what is complete; `forced` also for records of work still running. Nothing before
  // there is a context, when it can hang.
  void flush(bool forced) noexcept;

  // Drain thread only: adds CUPTI's and our own counts of lost records to the trace.
  void report_losses(TraceStream& out) noexcept;

  // Drain thread only: work that still runs has no times, and none are missed.
  void forget_untimed() noexcept { times_.untimed_count = 0; }
  std::uint64_t take_errors() noexcept { return errors_.exchange(0, std::memory_order_relaxed); }

  // GPU times are on CLOCK_MONOTONIC by CUPTI's own conversion, not shifted from wall time by us.
  bool clock_is_monotonic() const noexcept { return times_.is_monotonic; }

  // How CUPTI's times become ours. Set at the start; then the drain thread's.
  struct Times {
    bool is_monotonic = false;
    std::int64_t offset_ns = 0;  // to add to CUPTI's times; 0 when they are monotonic
    std::uint64_t untimed_count = 0;
    RecentWindows windows;  // read again for each buffer
  };

 private:
  enum class BufferState : std::uint8_t { kUnmapped, kFree, kWithCupti, kComplete };

  struct Buffer {
    std::atomic<BufferState> state{BufferState::kUnmapped};
    std::atomic<std::uint8_t*> data{nullptr};  // mapped on first use, then for good
    std::size_t valid_bytes = 0;
    std::uint64_t order = 0;  // its place in the order of completion
  };

  static bool take(Buffer& buffer) noexcept;
  static void give_back(Buffer& buffer) noexcept;
  void request(std::uint8_t** data, std::size_t* bytes) noexcept;
  void complete(const std::uint8_t* data, std::size_t valid_bytes) noexcept;
  Buffer* oldest_complete() noexcept;

  static constexpr std::size_t kMaxBuffers = 1024;

  Buffer buffers_[kMaxBuffers];
  std::size_t allowed_buffers_ = 0;
  std::atomic<std::uint64_t> completed_count_{0};
  std::atomic<std::uint64_t> refused_count_{0};
  std::atomic<std::uint64_t> errors_{0};
  std::atomic<std::uint32_t> captures_{0};  // streams that are being captured into graphs
  std::atomic<bool> has_context_{false};
  std::atomic<bool> rests_{false};
  void (*context_hook_)() noexcept = nullptr;
  Times times_;
};

// The recorder's.
[[gnu::visibility("hidden")]] extern GpuEvents& gpu_events;

}  // namespace synctrace::capture
