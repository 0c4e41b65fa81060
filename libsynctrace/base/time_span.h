// SPDX-License-Identifier: Apache-2.0
// Time: signed 64-bit nanoseconds on the process's CLOCK_MONOTONIC axis, and half-open spans [begin, end) of it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace synctrace {

using Nanoseconds = std::int64_t;

// Far earlier than any time, and still no overflow when weights are added.
inline constexpr Nanoseconds kNeverNs = std::numeric_limits<Nanoseconds>::min() / 4;
inline constexpr Nanoseconds kLatestTime = Nanoseconds{1} << 60;  // 36 years of uptime: later is damage

// a + b, held at the largest Nanoseconds instead of overflowing: hostile traces can hold a thousand 36-year calls.
constexpr Nanoseconds add_saturated(Nanoseconds a, Nanoseconds b) noexcept {
  Nanoseconds sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a < 0 ? std::numeric_limits<Nanoseconds>::min() : std::numeric_limits<Nanoseconds>::max();
}

struct TimeSpan {
  Nanoseconds begin_ns = 0;
  Nanoseconds end_ns = 0;

  constexpr Nanoseconds length_ns() const noexcept { return end_ns - begin_ns; }
  constexpr bool empty() const noexcept { return end_ns <= begin_ns; }
  constexpr bool contains(Nanoseconds t) const noexcept { return begin_ns <= t && t < end_ns; }

  friend constexpr bool operator==(const TimeSpan&, const TimeSpan&) = default;
};

// The common part of two spans; empty (but never inverted) when they do not meet.
constexpr TimeSpan intersect(TimeSpan a, TimeSpan b) noexcept {
  const Nanoseconds begin = std::max(a.begin_ns, b.begin_ns);
  return {begin, std::max(begin, std::min(a.end_ns, b.end_ns))};
}

}  // namespace synctrace
