// SPDX-License-Identifier: Apache-2.0
// The background thread that keeps up with what the program loads: the module map, the unwind tables of new modules,
// and the interpreter of Python. It asks the kernel, never the loader, and takes no lock. It copies whole sections and
// may take long for that, so it is not the drain thread. Low priority; ends with the other helpers.
#pragma once

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

 private:
  void run() noexcept;
  bool is_due(std::int64_t now_ns) noexcept;
  void look(std::int64_t now_ns) noexcept;

  const Helper helper_{"synctrace-map", true, true, [](void* self) noexcept { static_cast<ModuleWatch*>(self)->run(); },
                       this};
  std::atomic<std::uint32_t> bell_{0};
  std::uint64_t code_kib_ = 0;     // at the last look
  std::int64_t looked_ns_ = 0;     // when that was
  std::int64_t look_cost_ns_ = 0;  // processor time that it took
};

}  // namespace synctrace::capture
