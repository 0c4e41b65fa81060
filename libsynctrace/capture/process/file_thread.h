// SPDX-License-Identifier: Apache-2.0
// Where the recorder's files are open: one thread with a descriptor table of its own (own_descriptors.h). It waits
// until it is handed some work, does it and waits again. Where it cannot be had, the work is done by whoever asks, with
// descriptors that the program can see; file_sink then checks before each use that they are still ours.
//
// One thread at a time hands it work: the starting thread, later the drain thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <type_traits>

#include "capture/process/helper_thread.h"

namespace synctrace::capture {

class FileThread {
 public:
  // Starts it and waits until its table is its own; else work is done on the caller.
  void start() noexcept;

  // Calls `work()` on the thread and waits for its end, with the errno that it left.
  template <class Work>
  void run(Work&& work) noexcept {
    run({[](void* context) noexcept { (*static_cast<std::remove_reference_t<Work>*>(context))(); }, &work});
  }

  // Ends it. Whatever is asked for later is done on the caller.
  void stop() noexcept;

  bool is_running() const noexcept { return is_running_; }

 private:
  struct Work {
    void (*call)(void* context) noexcept = nullptr;
    void* context = nullptr;
  };
  enum class State : std::uint32_t { kStarting, kIdle, kAsked, kStopping, kRefused };

  void run(Work work) noexcept;
  void serve() noexcept;
  void set(State state) noexcept;
  void wait_while(State state) noexcept;
  State state() const noexcept { return static_cast<State>(state_.load(std::memory_order_acquire)); }

  const Helper helper_{"synctrace-file", false, true,
                       [](void* self) noexcept { static_cast<FileThread*>(self)->serve(); }, this};
  std::atomic<std::uint32_t> state_{static_cast<std::uint32_t>(State::kStarting)};  // a futex
  Work work_;
  int error_ = 0;
  bool is_running_ = false;  // used only by the thread that hands it work
};

}  // namespace synctrace::capture
