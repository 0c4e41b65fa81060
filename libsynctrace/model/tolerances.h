// SPDX-License-Identifier: Apache-2.0
// How far two clocks may be apart, and how long an ordinary latency, pause or hand-over takes, in one table: name,
// value, reason. All of them are times. What a recording measures itself (calibrate.h, device_pace.h, rank_clocks.h)
// comes first; these are for what it cannot tell.
#pragma once

#include "base/time_span.h"

namespace synctrace {

// clang-format off
// Clocks.
inline constexpr Nanoseconds kClockSkewNs = 5'000;              // host and GPU time stamps of one instant: CUPTI's own error
inline constexpr Nanoseconds kWorstSkewNs = 5'000;              // the same, after the repair of clocks
inline constexpr Nanoseconds kNoSkewNs = 1'000'000;             // clocks that CUPTI converted are never so far apart: a wrong join
inline constexpr Nanoseconds kWallClockNs = 20'000;             // wall clocks of two processes on a host: up to 18 us (docs/measurements/ranks.md)
inline constexpr Nanoseconds kSureMarginNs = 20'000;            // ends of one collective on two ranks: some us; nobody is late by less

// Waits.
inline constexpr Nanoseconds kOutstandingMarginNs = 20'000;     // a call waited for work that was outstanding for longer
inline constexpr Nanoseconds kShortestClearWaitNs = 20'000;     // a wait this long was ended by the end of the work
inline constexpr Nanoseconds kLongestReturnNs = 5'000'000;      // a later return tells of the scheduler or of lost work, not of the driver
inline constexpr Nanoseconds kWakeUpNs = 50'000;                // a thread that is woken returns later than one that the driver lets go
inline constexpr Nanoseconds kHostFunctionNs = 1'000'000;       // from the end of work to a host function behind it (H200: median 66 us, p90 500 us)
inline constexpr Nanoseconds kLongestRelayNs = 1'000'000;       // a thread that works for longer before it signals does not just hand on
inline constexpr Nanoseconds kHandoverNs = 200'000;             // from one thread to the next: 5 to 50 us, and more under load

// Launches and the GPU.
inline constexpr Nanoseconds kLatencySlackNs = 20'000;          // launch latencies scatter by this beyond their 95th percentile
inline constexpr Nanoseconds kLongestLatencyNs = 1'000'000;     // work of a free stream that begins later waited for its turn beside another process, or for what is lost
inline constexpr Nanoseconds kEngineSwitchNs = 10'000;          // from a kernel to a transfer and back: some us on an H200
inline constexpr Nanoseconds kLongestDevicePauseNs = 20'000;    // a longer pause between pieces of work is not the device's own pace
inline constexpr Nanoseconds kLongestLaunchPauseNs = 50'000;    // a longer pause of the host ends a dense run of launches
inline constexpr Nanoseconds kStreamHandoverNs = 5'000;         // from a stream to another that waits for its event, until measured
inline constexpr Nanoseconds kResidualNs = 50'000;              // a start that is later is held up by something that no model knows
inline constexpr Nanoseconds kUnitPauseNs = 2'000;              // between two units of a stream that follow at once
inline constexpr Nanoseconds kAtOnceNs = 20'000;                // a collective that is ready begins within this
inline constexpr Nanoseconds kResumedNs = 50'000;               // work that waited for a collective begins within this
// clang-format on

}  // namespace synctrace
