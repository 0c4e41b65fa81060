// SPDX-License-Identifier: Apache-2.0
// One capture of a stack at a time on a thread: a signal handler may interrupt a capture anywhere and want one of its
// own.
#pragma once

#include <atomic>

namespace synctrace::capture {

class CaptureTurn {
 public:
  CaptureTurn() noexcept : is_mine_(!is_busy) {
    if (is_mine_) is_busy = true;
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  CaptureTurn(const CaptureTurn&) = delete;
  CaptureTurn& operator=(const CaptureTurn&) = delete;
  ~CaptureTurn() {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (is_mine_) is_busy = false;
  }

  // False for a capture that interrupts another.
  bool is_mine() const noexcept { return is_mine_; }

 private:
  inline static thread_local __attribute__((tls_model("initial-exec"))) constinit bool is_busy = false;
  bool is_mine_;
};

}  // namespace synctrace::capture
