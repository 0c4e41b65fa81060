// SPDX-License-Identifier: Apache-2.0
// The clock of every time in a trace: CLOCK_MONOTONIC through the vDSO, about 20 ns a read. CUPTI is given the same
// clock, so host and GPU times lie on one axis and wall-clock steps do not tear it.
#pragma once

#include <ctime>

#include <cstdint>

namespace synctrace::capture {

inline std::int64_t read_clock_ns(clockid_t clock) noexcept {
  timespec now{};
  clock_gettime(clock, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

inline std::int64_t now_ns() noexcept { return read_clock_ns(CLOCK_MONOTONIC); }
inline std::int64_t realtime_ns() noexcept { return read_clock_ns(CLOCK_REALTIME); }

}  // namespace synctrace::capture
