// SPDX-License-Identifier: Apache-2.0
// Fixes of a place of the program, and their gains. Plain data, for readers that only show it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "attribution/cause.h"
#include "base/ids.h"
#include "base/time_span.h"

namespace synctrace {

// A change of a site. The letters are those of docs/whatif.md.
enum class Fix : std::uint8_t {
  kNone,            // nothing that would be legal
  kRemoveWait,      // F1: nothing of the host's depends on the wait
  kDeferRead,       // F2: the value is looked at one step later
  kDeferWait,       // F2: the data is waited for at the thread's next wait
  kAsyncCopy,       // F3: from pinned memory, without waiting
  kCacheMemory,     // F4: an allocator that keeps memory
  kGraph,           // F5: the run of launches becomes one graph
  kFeedInput,       // F6: the input is there when it is asked for
  kSpeedUp,         // F7: host code twice as fast
  kNoCollection,    // F9: the collector does not run in steps
  kPreload,         // F10: code is loaded before
  kNoProfiler,      // F11
  kDropDependency,  // the stream does not wait for the event
};

// One sort of thing at one place in the program: a fix applies to it. The caller makes the places.
struct FixKey {
  enum class Family : std::uint8_t {
    kNone,
    kWait,
    kMemory,
    kLaunch,
    kInput,
    kHost,
    kCollector,
    kCode,
    kProfiler,
    kDependency
  };
  Family family = Family::kNone;
  CauseKind kind = CauseKind::kUnknown;  // only for kHost: the thread's doing
  StackPlace place{};
  StackPlace until{};        // only for host time between two places
  std::uint32_t function{};  // only without a place: a function of CUDA or of the C library
  friend bool operator==(const FixKey&, const FixKey&) = default;
};

struct FixKeyHash {
  std::size_t operator()(const FixKey& key) const noexcept;
};

enum class Grade : std::uint8_t { kNone, kLow, kMedium, kHigh };  // kNone: no measurable gain

struct Interval {
  Nanoseconds ns = 0;
  Nanoseconds lo_ns = 0;
  Nanoseconds hi_ns = 0;
  Grade grade = Grade::kNone;
};

}  // namespace synctrace
