// SPDX-License-Identifier: Apache-2.0
// Marks that the calling thread is inside the recorder's own code. A signal handler may interrupt that code anywhere,
// half-way through a push into the ring, and may itself wait, read or call CUDA: what it does then is not recorded. The
// same mark keeps the recorder's own reads and waits out of the trace; its own threads carry it all their life.
#pragma once

#include <atomic>

namespace synctrace::capture {

inline thread_local __attribute__((tls_model("initial-exec"))) constinit std::atomic<bool> inside_recorder{false};

class ReentryGuard {
 public:
  ReentryGuard() noexcept : is_outermost_(!inside_recorder.load(std::memory_order_relaxed)) {
    inside_recorder.store(true, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  ~ReentryGuard() {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (is_outermost_) inside_recorder.store(false, std::memory_order_relaxed);
  }
  ReentryGuard(const ReentryGuard&) = delete;
  ReentryGuard& operator=(const ReentryGuard&) = delete;

  // False: the thread was inside already, and nothing may be recorded.
  explicit operator bool() const noexcept { return is_outermost_; }

 private:
  bool is_outermost_;
};

// For a thread that is the recorder's own, at its start.
inline void mark_own_thread() noexcept { inside_recorder.store(true, std::memory_order_relaxed); }

}  // namespace synctrace::capture
