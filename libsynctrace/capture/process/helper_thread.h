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

// Starts it. `helper` must live as long as its thread. False when none could be made.
[[nodiscard]] bool start_helper(const Helper& helper) noexcept;

// Helpers that are running. Any thread.
std::uint32_t helper_count() noexcept;

// Every helper but the drain thread ends soon: they look at the flag when they wake up, at least ten times a second.
void stop_helpers() noexcept;
bool helpers_are_stopped() noexcept;

// The kernel's wait on a word, at most `timeout_ns`, and its end.
void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected, std::int64_t timeout_ns) noexcept;
void futex_wake(std::atomic<std::uint32_t>& word) noexcept;

}  // namespace synctrace::capture
