// SPDX-License-Identifier: Apache-2.0
// The background thread that keeps up with what the program loads: the module map, the unwind tables of new modules,
// and the interpreter of Python. It takes the loader's lock, copies whole sections and may wait long for either, so it
// is not the drain thread. Low priority; ends with the other helpers.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>

#include "capture/process/helper_thread.h"

namespace synctrace::capture {

class ModuleWatch {
 public:
  // False when no thread could be made. Once, after enable_stacks().
  [[nodiscard]] bool start() noexcept;

  // Looks at once. Any thread, not in a signal handler: ModuleMap::ask_for_refresh() is for those.
  void wake() noexcept;

  // Around a fork, on the thread that forks: a child whose parent's watch held the loader's lock could never load, nor
  // throw, anything. The wait for it has a limit.
  void before_fork() noexcept;
  void after_fork_in_parent() noexcept;

 private:
  void run() noexcept;
  void ask_loader() noexcept;

  const Helper helper_{"synctrace-map", true, true, [](void* self) noexcept { static_cast<ModuleWatch*>(self)->run(); },
                       this};
  std::atomic<std::uint32_t> bell_{0};
  std::uint32_t looks_ = 0;
  pthread_mutex_t loader_turn_ = PTHREAD_MUTEX_INITIALIZER;  // held while the loader is asked
};

}  // namespace synctrace::capture
