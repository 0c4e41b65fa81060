// SPDX-License-Identifier: Apache-2.0
//
// The one clock of the simulated GPU: nanoseconds of CLOCK_MONOTONIC. Waiting never burns CPU
// and never goes through a C library call that tools are known to interpose.
#pragma once

#include <cerrno>
#include <cstdint>
#include <ctime>

namespace synctrace::simgpu {

using Nanoseconds = std::int64_t;

inline constexpr Nanoseconds kMicrosecond = 1000;
inline constexpr Nanoseconds kMillisecond = 1000 * kMicrosecond;
inline constexpr Nanoseconds kSecond = 1000 * kMillisecond;

inline Nanoseconds now_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * kSecond + time.tv_nsec;
}

inline timespec to_timespec(Nanoseconds ns) { return timespec{.tv_sec = ns / kSecond, .tv_nsec = ns % kSecond}; }

inline void sleep_until(Nanoseconds deadline) {
  if (deadline <= now_ns()) return;
  const timespec target = to_timespec(deadline);
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &target, nullptr) == EINTR) {
  }
}

// Host time that a call costs by itself. The kernel's sleep is too coarse below 60 us.
inline void spend(Nanoseconds duration) {
  const Nanoseconds deadline = now_ns() + duration;
  if (duration >= 60 * kMicrosecond) {
    sleep_until(deadline);
    return;
  }
  while (now_ns() < deadline) {
  }
}

}  // namespace synctrace::simgpu
