// SPDX-License-Identifier: Apache-2.0
// A clock for "was that long?": the CPU's own counter, some 8 ns a read where CLOCK_MONOTONIC takes 20 to 60. A span of
// ticks becomes nanoseconds of CLOCK_MONOTONIC afterwards, and only when it was long. Where the kernel itself does not
// trust the counter (its clock source is another) the ticks are the nanoseconds of that clock.
#pragma once

#include <cstdint>

#include "capture/process/clocks.h"

namespace synctrace::capture {

#if defined(__x86_64__)
inline constinit bool counter_is_usable = false;  // written by TickClock::start(), before anybody reads ticks
#endif

inline std::uint64_t read_ticks() noexcept {
#if defined(__x86_64__)
  if (counter_is_usable) [[likely]]
    return __builtin_ia32_rdtsc();
  return static_cast<std::uint64_t>(now_ns());
#elif defined(__aarch64__)
  std::uint64_t ticks;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#else
  return static_cast<std::uint64_t>(now_ns());
#endif
}

// The same instant on both clocks.
struct TickMoment {
  std::uint64_t ticks = 0;
  std::int64_t time_ns = 0;
};

// The closest pair that a few tries give: between the two reads the thread may lose its CPU.
TickMoment read_tick_moment() noexcept;

// Turns ticks into times. The rate is that between the start and the moment of the question, so that a span which lies
// between them is off by no more than the two pairs are: a fraction of a microsecond. Any thread, after start().
class TickClock {
 public:
  void start() noexcept;

  // At least this many ticks are `span_ns`, by the rate known until now. Some milliseconds after start() it is right to
  // 1 %.
  std::uint64_t ticks_of(std::int64_t span_ns) const noexcept;

  // When the counter showed `ticks`, which was before `now`.
  std::int64_t time_of(std::uint64_t ticks, const TickMoment& now) const noexcept;

 private:
  TickMoment origin_;
};

}  // namespace synctrace::capture
