// SPDX-License-Identifier: Apache-2.0
#include "capture/stacks/module_watch.h"

#include <ctime>

#include "capture/stacks/stack_table.h"
#include "capture/unwind/module_map.h"
#include "capture/unwind/unwind_table.h"

namespace synctrace::capture {
namespace {

// How long code of a new module is unknown at most. A look that finds nothing new takes a microsecond.
constexpr std::int64_t kLookEveryNs = 50'000'000;
constexpr std::uint32_t kLooksPerPython = 10;

// A look takes a millisecond at most, unless the loader is busy: with a constructor, say, that is what forks.
constexpr long kForkPatienceNs = 20'000'000;

// The calling thread forks and has the turn.
thread_local __attribute__((tls_model("initial-exec"))) constinit bool fork_has_turn = false;

}  // namespace

bool ModuleWatch::start() noexcept { return helper_threads.start(helper_); }

void ModuleWatch::wake() noexcept {
  bell_.store(1, std::memory_order_release);
  futex_wake(bell_);
}

void ModuleWatch::run() noexcept {
  while (!helper_threads.are_stopped()) {
    bell_.store(0, std::memory_order_relaxed);
    pthread_mutex_lock(&loader_turn_);
    ask_loader();
    pthread_mutex_unlock(&loader_turn_);
    // Also when nothing was loaded: a table that could not be built then may be built now.
    build_missing_tables(module_map);
    futex_wait(bell_, 0, kLookEveryNs);
  }
}

// An interpreter comes with a module; sub-interpreters come without one.
void ModuleWatch::ask_loader() noexcept {
  module_map.take_refresh_request();
  const bool has_changed = module_map.refresh();
  if (has_changed || looks_++ % kLooksPerPython == 0) look_for_python();
}

void ModuleWatch::before_fork() noexcept {
  timespec deadline{};
  clock_gettime(CLOCK_REALTIME, &deadline);
  deadline.tv_nsec += kForkPatienceNs;
  deadline.tv_sec += deadline.tv_nsec / 1'000'000'000;
  deadline.tv_nsec %= 1'000'000'000;
  fork_has_turn = pthread_mutex_timedlock(&loader_turn_, &deadline) == 0;
}

void ModuleWatch::after_fork_in_parent() noexcept {
  if (!fork_has_turn) return;
  fork_has_turn = false;
  pthread_mutex_unlock(&loader_turn_);
}

}  // namespace synctrace::capture
