// SPDX-License-Identifier: Apache-2.0
// The time of an event on the axis of CLOCK_MONOTONIC, for less than half of what reading that clock costs: two readings
// were half of our part of a launch (docs/decisions/0021-times-of-events.md).
//
// Each thread anchors the CPU's counter to the clock anew whenever its anchor is older than a millisecond, and counts on
// from it at the rate since recording began. The clock may be slewed by 500 parts in a million against that rate
// (adjtimex(2)), which is half a microsecond by the end of an anchor's life. Times of one thread never go back.
#pragma once

#include <cstdint>

#include "capture/cpu_ticks.h"

namespace synctrace::capture {

class EventClock {
 public:
  // Never allocates, blocks or calls the system. Only for the thread that owns it, and not from its signal handlers.
  std::int64_t now() noexcept {
    if (anchor_life_ticks_ == 0) [[unlikely]] return renew();
    const std::uint64_t elapsed = read_ticks() - anchor_.ticks;
    // A counter that went back is very far ahead here.
    if (elapsed >= anchor_life_ticks_) [[unlikely]] return renew();
    return not_back(anchor_.time_ns + static_cast<std::int64_t>(static_cast<double>(elapsed) * period_ns_));
  }

 private:
  std::int64_t renew() noexcept;

  std::int64_t not_back(std::int64_t time_ns) noexcept {
    if (time_ns > last_ns_) last_ns_ = time_ns;
    return last_ns_;
  }

  TickMoment anchor_;
  std::uint64_t anchor_life_ticks_ = 0;  // 0: no anchor yet
  double period_ns_ = 0;                 // of a tick
  std::int64_t last_ns_ = 0;
};

inline thread_local __attribute__((tls_model("initial-exec"))) constinit EventClock event_clock;

// CLOCK_MONOTONIC itself until a millisecond after start_event_clock(), and for good where the counter is not trusted.
inline std::int64_t event_time_ns() noexcept { return event_clock.now(); }

// Before the first event, after TickClock::start(); the rate is measured from here on.
void start_event_clock() noexcept;

}  // namespace synctrace::capture
