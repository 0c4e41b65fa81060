// SPDX-License-Identifier: Apache-2.0
// Turns CUPTI's callbacks and activity kinds on and off. On CUPTI 13.0 U1 kernel, copy and memset records can be
// switched in a running process with exact counts (measured, docs/decisions); graph records cannot (the process
// crashed), so they are chosen once, at injection. Calls are serialised by a lock of our own, as CUPTI demands; never
// call with a lock held that a callback may take.
#pragma once

#include <cupti.h>
#include <pthread.h>

#include <atomic>
#include <cstdint>

namespace synctrace::capture {

// What is asked of CUPTI.
enum class Sources : std::uint8_t {
  kNone,         // nothing at all (benchmarks)
  kSyncs,        // callbacks of waits, copies and allocations
  kTimeline,     // all callbacks and the activity kinds
  kRecordsOnly,  // the activity kinds alone, their records thrown away: bare CUPTI (benchmarks)
};

class CuptiSwitch {
 public:
  // Chooses graph or graph-node records and enables what is always on (resource callbacks, device and stream records).
  // Once, at injection, before any context exists. False when CUPTI refused.
  [[nodiscard]] bool start(CUpti_SubscriberHandle subscriber, bool graph_nodes) noexcept;

  // Any thread. Remembers the state and does nothing when it is there already. Sets recorder_state to match.
  void switch_to(Sources sources) noexcept;

  // Records are to be thrown away (Sources::kRecordsOnly).
  bool discards_records() const noexcept { return discards_.load(std::memory_order_relaxed); }

  // Callback ids that this CUPTI does not know.
  std::uint32_t unknown_call_count() const noexcept { return unknown_calls_.load(std::memory_order_relaxed); }

 private:
  pthread_mutex_t lock_ = PTHREAD_MUTEX_INITIALIZER;
  CUpti_SubscriberHandle subscriber_ = nullptr;
  Sources current_ = Sources::kNone;
  std::atomic<std::uint32_t> unknown_calls_{0};
  std::atomic<bool> discards_{false};
};

// The recorder's.
[[gnu::visibility("hidden")]] extern CuptiSwitch& cupti_switch;

// Changes with every switch: a call that began under another epoch may miss its exit (api_events).
inline constinit std::atomic<std::uint32_t> switch_count{0};
inline std::uint32_t switch_epoch() noexcept { return switch_count.load(std::memory_order_relaxed); }

}  // namespace synctrace::capture
