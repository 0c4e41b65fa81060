// SPDX-License-Identifier: Apache-2.0
// From the sampler to the drain thread: what threads were seen doing, and what the sampler lost and cost. One thread on
// either side. A sample names stacks that other threads write into their rings; so the drain thread asks first what is
// ready(), then empties the rings, and then takes what was ready: a stack stands in the file before its first use.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/ids.h"
#include "format/records.h"

namespace synctrace::capture {

// Samples in a row of one thread that found the same: a format::Sample with its text.
struct SampledRun {
  ThreadId thread{};
  format::Sample::State state{};
  StackId stack{};
  std::int64_t begin_ns = 0;
  std::int64_t last_ns = 0;
  std::uint64_t count = 0;
  std::string_view channel;  // lives as long as the process
};

// Counted by the sampler and its signal handler, taken by the drain thread; names of losses are in
// docs/trace-format.md.
struct SampleCounts {
  std::atomic<std::uint64_t> late{0};     // ticks that came too late to look
  std::atomic<std::uint64_t> moved{0};    // sleepers that woke up while they were read
  std::atomic<std::uint64_t> unread{0};   // threads whose Python frames could not be read
  std::atomic<std::uint64_t> busy{0};     // signals that were not handled in time
  std::atomic<std::uint64_t> unasked{0};  // looks at running threads that cannot be asked
  std::atomic<std::uint64_t> dropped{0};  // runs that found the queue full
  std::atomic<std::uint64_t> threads{0};  // looks at threads beyond those that can be watched
  std::atomic<std::uint64_t> spoiled{0};  // calls of the program that saw an EINTR of ours
  // Facts, not losses.
  std::atomic<std::uint64_t> restarted{0};  // calls that our signal ended and that were made again
  std::atomic<std::uint64_t> signals{0};    // signals handled
  std::atomic<std::uint64_t> signal_ns{0};  // time in the handler, at most 0.1 ms each
  std::atomic<std::uint64_t> thread_ns{0};  // CPU time of the sampler's own thread

  // Before another trace begins.
  void reset() noexcept {
    for (std::atomic<std::uint64_t>* count : {&late, &moved, &unread, &busy, &unasked, &dropped, &threads, &spoiled,
                                              &restarted, &signals, &signal_ns, &thread_ns}) {
      count->store(0, std::memory_order_relaxed);
    }
  }
};

class SampleQueue {
 public:
  // Sampler. A full queue drops the run.
  void push(const SampledRun& run) noexcept {
    const std::uint64_t head = head_.load(std::memory_order_relaxed);
    if (head - tail_.load(std::memory_order_acquire) == kRoom) {
      counts.dropped.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    runs_[head % kRoom] = run;
    head_.store(head + 1, std::memory_order_release);
  }

  // Drain thread.
  std::uint64_t ready() const noexcept { return head_.load(std::memory_order_acquire); }
  template <class Visitor>
  void take_until(std::uint64_t head, Visitor&& visitor) noexcept {
    for (std::uint64_t tail = tail_.load(std::memory_order_relaxed); tail != head; ++tail) {
      visitor(runs_[tail % kRoom]);
      tail_.store(tail + 1, std::memory_order_release);
    }
  }

  // No looks until it is called again with false. Any thread.
  void pause(bool paused) noexcept { is_paused_.store(paused, std::memory_order_relaxed); }
  bool is_paused() const noexcept { return is_paused_.load(std::memory_order_relaxed); }

  SampleCounts counts;

 private:
  // A pass of the drain thread takes 10 ms or less: 64 threads at 1 kHz.
  static constexpr std::size_t kRoom = 1024;

  std::array<SampledRun, kRoom> runs_;
  std::atomic<std::uint64_t> head_{0};
  std::atomic<std::uint64_t> tail_{0};
  std::atomic<bool> is_paused_{false};
};

// The recorder's.
[[gnu::visibility("hidden")]] extern SampleQueue& sample_queue;

}  // namespace synctrace::capture
