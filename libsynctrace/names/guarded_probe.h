// SPDX-License-Identifier: Apache-2.0
// Tries something that may crash or hang, in a process of its own: a damaged library, or a broken driver in `doctor`.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace synctrace {

struct ProbeAnswer {
  enum class End : std::uint8_t { kAnswered, kCrashed, kTimedOut };
  End end = End::kCrashed;
  std::string text;  // what the probe returned
};

// Calls `probe` in a child process and gives it `limit_ms`. The child's stdout and stderr go nowhere.
ProbeAnswer run_guarded(const std::function<std::string()>& probe, int limit_ms);

}  // namespace synctrace
