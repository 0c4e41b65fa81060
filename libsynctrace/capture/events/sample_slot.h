// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "base/ids.h"

namespace synctrace::capture {

// What the sampler asks of a thread, and the thread's signal handler answers: the stack that it was interrupted on.
class SampleSlot {
 public:
  // Sampler. Between ask() and sent() the signal is sent, if the thread still takes it.
  bool ask() noexcept {
    word_.store(kAsked, std::memory_order_seq_cst);
    if (is_open()) return true;
    forget();
    return false;
  }
  void sent() noexcept {
    std::uint64_t asked = kAsked;
    word_.compare_exchange_strong(asked, kSent, std::memory_order_acq_rel);
  }
  void forget() noexcept { word_.store(0, std::memory_order_release); }
  bool take(StackId& stack) noexcept {
    const std::uint64_t word = word_.load(std::memory_order_acquire);
    if ((word & kAnswered) == 0) return false;
    stack = static_cast<StackId>(word >> 32);
    forget();
    return true;
  }

  // Any thread: the thread has a stack for the signal.
  bool is_open() const noexcept { return is_open_.load(std::memory_order_seq_cst); }

  // The thread. After close() a signal can only come while is_asked(); until is_sent() it may not have been sent yet.
  void open() noexcept { is_open_.store(true, std::memory_order_seq_cst); }
  void close() noexcept { is_open_.store(false, std::memory_order_seq_cst); }
  bool is_asked() const noexcept {
    const std::uint64_t word = word_.load(std::memory_order_seq_cst);
    return word == kAsked || word == kSent;
  }
  bool is_sent() const noexcept { return word_.load(std::memory_order_acquire) == kSent; }
  void answer(StackId stack) noexcept {
    word_.store(std::uint64_t{number(stack)} << 32 | kAnswered, std::memory_order_release);
  }

 private:
  static constexpr std::uint64_t kAsked = 1;
  static constexpr std::uint64_t kAnswered = 2;
  static constexpr std::uint64_t kSent = 4;

  std::atomic<std::uint64_t> word_{0};
  std::atomic<bool> is_open_{false};
};

}  // namespace synctrace::capture
