// SPDX-License-Identifier: Apache-2.0
// Fixes of a place of the program, and their gains. Plain data, for readers that only show it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

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
  kDropCall,        // F12: host code that no step needs is gone
  kLikeOthers,      // rare slow steps take as long as the others; never replayed
  kKernels,         // F13: kernels take less time (kernel_change.h); of no site
};

// One sort of thing at one place in the program: a fix applies to it. The caller makes the places.
struct FixKey {
  FixFamily family = FixFamily::kNone;
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

// The time that savings are a part of: ordinary steps, or all of the recording.
struct SavingsBase {
  std::string refusal;  // why nothing can be predicted; empty: something can
  bool by_steps = false;
  std::size_t steps = 0;       // counted
  Nanoseconds base_ns = 0;     // time of what is counted, without the recorder,
  Nanoseconds base_lo_ns = 0;  // at least and at most: what the recorder takes is not known exactly;
  Nanoseconds base_hi_ns = 0;
  Nanoseconds recorded_ns = 0;   // and with it
  Interval all;                  // with every fix
  double unexplained_share = 0;  // share of the time before work that started late for unknown reasons
};

}  // namespace synctrace
