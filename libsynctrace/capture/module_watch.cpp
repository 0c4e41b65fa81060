// SPDX-License-Identifier: Apache-2.0
#include "capture/module_watch.h"

#include "capture/helper_thread.h"
#include "capture/module_map.h"
#include "capture/stack_table.h"
#include "capture/unwind_table.h"

namespace synctrace::capture {
namespace {

// How long code of a new module is unknown at most. A look that finds nothing new takes a microsecond.
constexpr std::int64_t kLookEveryNs = 50'000'000;

}  // namespace

ModuleWatch& module_watch() noexcept {
  static constinit ModuleWatch watch;
  return watch;
}

bool ModuleWatch::start() noexcept {
  static const Helper helper{"synctrace-map", true, [](void* self) noexcept { static_cast<ModuleWatch*>(self)->run(); },
                             this};
  return start_helper(helper);
}

void ModuleWatch::wake() noexcept {
  bell_.store(1, std::memory_order_release);
  futex_wake(bell_);
}

void ModuleWatch::run() noexcept {
  while (!helpers_are_stopped()) {
    bell_.store(0, std::memory_order_relaxed);
    look_once();
    futex_wait(bell_, 0, kLookEveryNs);
  }
}

void ModuleWatch::look_once() noexcept {
  module_map().take_refresh_request();
  module_map().refresh();
  // Also when nothing was loaded: a table that could not be built then may be built now.
  build_missing_tables(module_map());
  look_for_python();
}

}  // namespace synctrace::capture
