// SPDX-License-Identifier: Apache-2.0
// When each row of a device's causes cost something: its longest stretches of idle time, and how long all of them were,
// and the calls behind them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "findings/report/report.h"
#include "model/trace.h"

namespace synctrace {
struct Attribution;
}

namespace synctrace::page {

// Durations by powers of two.
struct DurationCounts {
  std::array<std::uint64_t, 64> by_width{};  // [w]: durations of 2^(w-1) ns up to 2^w
  std::uint64_t total = 0;
  Nanoseconds longest_ns = 0;

  void add(Nanoseconds ns) noexcept;
};

struct CauseOccurrences {
  std::vector<TimeSpan> longest;  // at most kMostOccurrences, and `typical`, in order of time: in the steps, where
                                  // there are any
  std::vector<TimeSpan> outside;  // outside of steps, while they are collected
  TimeSpan typical;  // one of them: half of their time is in stretches of its length and shorter; empty: there is none
  DurationCounts idle;   // stretches of idle time
  DurationCounts calls;  // waits behind them, each counted once; none where it is no call
};
inline constexpr std::size_t kMostOccurrences = 200;

struct DeviceOccurrences {
  std::vector<CauseOccurrences> idle;     // one for each of DeviceReport::causes
  std::vector<CauseOccurrences> copying;  // one for each of DeviceReport::copy_causes
};

// One for each of `report.devices`. `attribution` with its parts.
std::vector<DeviceOccurrences> find_occurrences(const Trace& trace, const Attribution& attribution,
                                                const Report& report);

}  // namespace synctrace::page
