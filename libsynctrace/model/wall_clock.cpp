// SPDX-License-Identifier: Apache-2.0
#include "model/wall_clock.h"

#include <algorithm>

namespace synctrace {
namespace {

constexpr std::int64_t kLatestWallNs = std::int64_t{1} << 62;  // the year 2116: later is damage
constexpr std::int64_t kMonthNs = 30LL * 24 * 3600 * 1'000'000'000;
// A trace may hold what began before its recorder did.
constexpr std::int64_t kSlackNs = 3600LL * 1'000'000'000;

}  // namespace

std::optional<Nanoseconds> measured_lead_ns(const Trace& trace) noexcept {
  for (const Clock& clock : trace.clocks) {
    const bool possible = clock.monotonic_ns >= 0 && clock.monotonic_ns <= kLatestTime && clock.realtime_ns >= 0 &&
                          clock.realtime_ns <= kLatestWallNs;
    if (possible) return clock.realtime_ns - clock.monotonic_ns;
  }
  return std::nullopt;
}

Nanoseconds clock_lead_ns(const Trace& trace) noexcept {
  if (const auto measured_ns = measured_lead_ns(trace)) return *measured_ns;
  const auto start = static_cast<std::int64_t>(std::min(trace.start_realtime_ns, std::uint64_t{kLatestWallNs}));
  return start - trace.first_ns;
}

Nanoseconds export_base_ns(std::uint64_t start_realtime_ns) noexcept {
  const auto start = static_cast<std::int64_t>(std::min(start_realtime_ns, std::uint64_t{kLatestWallNs}));
  return std::max<std::int64_t>(0, start - kSlackNs) / kMonthNs * kMonthNs;
}

}  // namespace synctrace
