// SPDX-License-Identifier: Apache-2.0
// Turns CUPTI's callbacks and activity kinds on and off. On CUPTI 13.0 U1 kernel, copy and memset records can be
// switched in a running process with exact counts (measured, docs/decisions). Graph records cannot: the process
// crashed. So they are switched on once, before the first graph is made, and stay. Calls are serialised by a lock of
// our own, as CUPTI demands; never call with a lock held that a callback may take.
#pragma once

#include <cupti.h>
#include <pthread.h>

#include <atomic>
#include <cstdint>

#include "capture/cupti/traced_calls.h"

namespace synctrace::capture {

// The events and records that CUPTI is asked for.
enum class Sources : std::uint8_t {
  kNone,         // nothing at all (benchmarks)
  kQuiet,        // callbacks of calls that are not plain (TracedCall::is_plain), and do not launch
  kSyncs,        // and of waits and copies
  kTimeline,     // all callbacks; the windows keep the records of GPU work
  kRecordsOnly,  // no callbacks, and records are thrown away: bare CUPTI (benchmarks)
};

class CuptiSwitch {
 public:
  // Enables what is always on (resource callbacks, device and stream records). At injection, before any context exists;
  // or `late`: then what exists already is asked for, too. `whole_graphs`: a graph will be one record, not one a node;
  // only where no graph was made yet. False when CUPTI refused.
  [[nodiscard]] bool start(CUpti_SubscriberHandle subscriber, bool whole_graphs, bool late) noexcept;

  // Behind the last flush of a live window: all off but the records of GPU work, which cannot be switched off without
  // harm (docs/decisions/0048). Where they are on, CUPTI stays ours: another tool would get their buffers.
  void rest() noexcept;

  // Null before start(), and behind rest() where CUPTI was let go.
  CUpti_SubscriberHandle subscriber() const noexcept { return subscriber_; }

  // Before the program's first graph is made, from the callback of the call that makes it: asks for graph records if
  // they are wanted. Until then they would only cost (docs/decisions/0009).
  void expect_graphs() noexcept {
    if (wants_graphs_.load(std::memory_order_relaxed)) [[unlikely]]
      ask_for_graphs();
  }

  // Asks CUPTI for records of GPU work. Once, when the first window opens. Switched off later, CUPTI 13.0 can kill the
  // program (docs/decisions/0039). Only benchmarks switch them off and on.
  void set_records(bool on) noexcept;

  // Any thread. Switches callbacks. Remembers the state and does nothing when it is there already. Sets recorder_state
  // to match.
  void switch_to(Sources sources) noexcept;

  // Records are to be thrown away (Sources::kRecordsOnly).
  bool discards_records() const noexcept { return discards_.load(std::memory_order_relaxed); }

  // Callback ids that this CUPTI does not know.
  std::uint32_t unknown_call_count() const noexcept { return unknown_calls_.load(std::memory_order_relaxed); }

 private:
  void ask_for_graphs() noexcept;
  bool goes_off(Scope scope, Sources next) const noexcept;
  void all_callbacks_off() noexcept;
  void set_callbacks(Sources next) noexcept;

  pthread_mutex_t lock_ = PTHREAD_MUTEX_INITIALIZER;
  CUpti_SubscriberHandle subscriber_ = nullptr;
  Sources current_ = Sources::kNone;
  std::atomic<std::uint32_t> unknown_calls_{0};
  std::atomic<bool> discards_{false};
  bool has_records_ = false;               // CUPTI was asked for those of GPU work
  std::atomic<bool> wants_graphs_{false};  // and has not asked for them yet
};

// The recorder's.
[[gnu::visibility("hidden")]] extern CuptiSwitch& cupti_switch;

// How often the callbacks of a scope were switched off: of a call that was under way then no exit may come.
inline constinit std::atomic<std::uint32_t> lapse_counts[2]{};
inline std::uint32_t lapses_of(Scope scope) noexcept {
  return lapse_counts[static_cast<int>(scope)].load(std::memory_order_relaxed);
}

// Changes with every switch.
inline constinit std::atomic<std::uint32_t> switch_count{0};
inline std::uint32_t switch_epoch() noexcept { return switch_count.load(std::memory_order_relaxed); }

}  // namespace synctrace::capture
