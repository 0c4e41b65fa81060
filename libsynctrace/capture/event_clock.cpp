// SPDX-License-Identifier: Apache-2.0
#include "capture/event_clock.h"

namespace synctrace::capture {
namespace {

constexpr std::int64_t kAnchorLifeNs = 1'000'000;

// Before that the rate is not known well enough: two readings that are 50 ns off make 1 part in 20,000 of a millisecond.
constexpr std::int64_t kLearnNs = 1'000'000;

constinit TickMoment origin;
constinit bool is_started = false;  // written before the first event

}  // namespace

void start_event_clock() noexcept {
  origin = read_tick_moment();
  is_started = ticks_are_counted();
}

std::int64_t EventClock::renew() noexcept {
  if (!is_started) return not_back(now_ns());
  const TickMoment now = read_tick_moment();
  const std::int64_t learned_ns = now.time_ns - origin.time_ns;
  if (learned_ns >= kLearnNs && now.ticks > origin.ticks) {
    anchor_ = now;
    period_ns_ = static_cast<double>(learned_ns) / static_cast<double>(now.ticks - origin.ticks);
    anchor_life_ticks_ = static_cast<std::uint64_t>(static_cast<double>(kAnchorLifeNs) / period_ns_);
  } else {
    anchor_life_ticks_ = 0;
  }
  return not_back(now.time_ns);
}

}  // namespace synctrace::capture
