// SPDX-License-Identifier: Apache-2.0
// What can be done about a place of the program, and what that would gain. Plain data, for those who only say it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "attribution/cause.h"
#include "base/ids.h"
#include "base/time_span.h"

namespace synctrace {

// What is done about a site. The letters are those of docs/whatif.md.
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

// Where something of one sort happens in the program: what a fix applies to. Places are those of the caller's making.
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
  CauseKind kind = CauseKind::kUnknown;  // of kHost: what the thread did
  StackPlace place{};
  StackPlace until{};        // of host time between two places
  std::uint32_t function{};  // where the place is not known: of CUDA or of the C library
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
