// SPDX-License-Identifier: Apache-2.0
// The recorder's own threads. Each is detached, with all signals blocked (they are the program's) and a name of its
// own. They are counted, because the process must be able to end when only they are left; then all of them are told to
// end.
#pragma once

#include <atomic>
#include <cstdint>

namespace synctrace::capture {

struct Helper {
  const char* name;  // at most 15 characters
  bool gives_way;    // low priority: the program first, where cores are scarce
  bool owns_files;   // what it opens is its own, where the system allows that: own_descriptors.h
  void (*run)(void* context) noexcept;
  void* context;
};

class HelperThreads {
 public:
  // Starts one. `helper` must live as long as its thread. False when none could be made.
  [[nodiscard]] bool start(const Helper& helper) noexcept;

  // Helpers that are running. Any thread.
  std::uint32_t count() const noexcept { return running_.load(std::memory_order_relaxed); }

  // Every helper but the drain thread ends soon: they look at the flag when they wake up, at least ten times a second.
  void stop() noexcept { stopped_.store(true, std::memory_order_relaxed); }
  // Behind stop(), once those have ended: others may be started.
  void resume() noexcept { stopped_.store(false, std::memory_order_relaxed); }
  bool are_stopped() const noexcept { return stopped_.load(std::memory_order_relaxed); }

 private:
  static void* run(void* helper) noexcept;

  std::atomic<std::uint32_t> running_{0};
  std::atomic<bool> stopped_{false};
};

// The recorder's.
[[gnu::visibility("hidden")]] extern HelperThreads& helper_threads;

// True when main() was left by pthread_exit and no threads are left but ours, which must not keep the process alive:
// when they return, the C library ends the process as it would have without us.
bool only_helpers_are_left() noexcept;

// The kernel's wait on a word, at most `timeout_ns`, and its end.
void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected, std::int64_t timeout_ns) noexcept;
void futex_wake(std::atomic<std::uint32_t>& word) noexcept;

}  // namespace synctrace::capture
