// SPDX-License-Identifier: Apache-2.0
#include "capture/stacks/module_watch.h"

#include "capture/process/clocks.h"
#include "capture/process/plain_syscalls.h"
#include "capture/stacks/stack_table.h"
#include "capture/unwind/module_map.h"
#include "capture/unwind/process_maps.h"
#include "capture/unwind/unwind_table.h"

namespace synctrace::capture {
namespace {

// How long code of a new module is unknown at most. Asking how much code is mapped takes some 20 us.
constexpr std::int64_t kAskEveryNs = 50'000'000;

// How often all mappings are read though the amount of code is what it was: one library may have taken another's place.
constexpr std::int64_t kLookEveryNs = 1'000'000'000;

// Reading them takes milliseconds in a large program: no more than this part of one core, and more while it loads.
constexpr std::int64_t kPauseForCost = 200;
constexpr std::int64_t kPauseWhileLoading = 20;

}  // namespace

bool ModuleWatch::start() noexcept { return helper_threads.start(helper_); }

void ModuleWatch::wake() noexcept {
  bell_.store(1, std::memory_order_release);
  futex_wake(bell_);
}

void ModuleWatch::run() noexcept {
  while (!helper_threads.are_stopped()) {
    bell_.store(0, std::memory_order_relaxed);
    if (const std::int64_t now = now_ns(); is_due(now)) look(now);
    // Also when nothing was loaded: a table that could not be built then may be built now.
    build_missing_tables(module_map);
    futex_wait(bell_, 0, kAskEveryNs);
  }
}

// With plain system calls a stack that met unknown code is all that tells: to ask for more opens a file each time.
bool ModuleWatch::is_due(std::int64_t now_ns) noexcept {
  const bool is_plain = plain_syscalls_only();
  const std::uint64_t code_kib = is_plain && looked_ns_ != 0 ? code_kib_ : mapped_code_kib();
  const bool has_changed = code_kib != code_kib_;
  const std::int64_t pause_ns = look_cost_ns_ * (has_changed ? kPauseWhileLoading : kPauseForCost);
  if (now_ns - looked_ns_ < pause_ns) return false;
  const bool was_asked = module_map.take_refresh_request();
  if (!has_changed && !was_asked && (is_plain || now_ns - looked_ns_ < kLookEveryNs)) return false;
  code_kib_ = code_kib;
  return true;
}

// Interpreters come with a module. Sub-interpreters come without one.
void ModuleWatch::look(std::int64_t now_ns) noexcept {
  const std::int64_t begin_ns = read_clock_ns(CLOCK_THREAD_CPUTIME_ID);
  module_map.refresh();
  look_cost_ns_ = read_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns;
  looked_ns_ = now_ns;
  look_for_python();
}

}  // namespace synctrace::capture
