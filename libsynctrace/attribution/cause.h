// SPDX-License-Identifier: Apache-2.0
// The words of an explanation: why a device did nothing for a stretch of time (the cause), whose doing that was (the
// owner: one row of a table of the trace), and how sure we are. docs/attribution.md says what each cause means.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/ids.h"
#include "base/time_span.h"

namespace synctrace {

enum class CauseKind : std::uint8_t {
  kUnknown,     // none of the below; Part::reason says why not
  kStreamSync,  // an explicit wait: its return after the work, or its own cost
  kDeviceSync,
  kEventSync,
  kPolling,
  kFrameworkWait,  // a thread slept until GPU work ended, in no CUDA call
  kBlockingCopy,   // a copy call: its return, and what is not staging
  kPageableCopy,   // the driver moves pageable bytes itself, before the transfer
  kHiddenSync,     // a call that is on no list of waits but behaves like one
  kAllocation,
  kRelease,
  kModuleLoad,     // module loads, graph instantiation, context creation, first launches
  kLaunchBound,    // launch calls, and the framework's time between launches of a dense run
  kLatency,        // from the end of a single late launch call to the start of its work
  kInput,          // waiting for a data loader
  kLoaderCompute,  // running one
  kHostCompute,
  kOtherCall,  // host time in any other CUDA call
  kGarbageCollection,
  kGil,
  kPeerThread,  // waiting for another thread: the wake-up itself, or a waker that is not known
  kLock,
  kSleep,
  kIo,
  kCpuStarved,  // ready to run, but not running
  kStreamDependency,
  kDeviceDependency,
  kCopyDependency,  // of copy-only time: the next kernel waits for the running copy
  kHostFunction,
  kDispatch,  // the device's own pause between queued pieces of work
  kProfiler,  // our own overhead, or CUPTI's
  kStartup,   // before the device's first work
  kShutdown,  // after its last
  kCapture,   // at the edge of what was recorded
};
inline constexpr std::size_t kCauseKinds = static_cast<std::size_t>(CauseKind::kCapture) + 1;

// "stream-sync". Static storage.
std::string_view cause_name(CauseKind kind) noexcept;

// Before the first work, after the last, outside what was recorded: true, but nothing to fix.
constexpr bool is_edge(CauseKind kind) noexcept {
  return kind == CauseKind::kStartup || kind == CauseKind::kShutdown || kind == CauseKind::kCapture;
}

// Why a cause is unknown, or where a stretch at the edge comes from.
enum class Reason : std::uint8_t {
  kNone,
  kLateOnDevice,   // the work was queued in time and nothing that it had to wait for explains its start
  kSlowDispatch,   // started much later after its launch than launches do
  kNoLaunch,       // the call that issued the work is not in the trace
  kNoHostRecords,  // the thread left no records here
  kTooManyJumps,   // threads that woke each other in a circle
  kTooManySteps,   // more records of the host than one gap is explained by
};
std::string_view reason_words(Reason reason) noexcept;

// How much of what a level says holds is stated in docs/attribution.md.
enum class Confidence : std::uint8_t { kLow, kMedium, kHigh };
inline constexpr std::size_t kConfidences = 3;

// A row of one of the trace's tables.
enum class OwnerTable : std::uint8_t { kNone, kCall, kLaunch, kPoll, kHostWait, kSample, kOverhead, kStretch };

struct Owner {
  std::uint32_t row = 0;
  OwnerTable table = OwnerTable::kNone;
  friend bool operator==(const Owner&, const Owner&) = default;
};

// One stretch of a gap with one cause. Where a wait had drained the device's queue, the time of the host that follows
// is the wait's doing: then `drained` is set, `owner` and `kind` are the wait's, and `activity` is what the host did.
struct Part {
  TimeSpan span;
  ThreadId thread{};
  Owner owner;
  Owner activity;
  CauseKind kind = CauseKind::kUnknown;
  CauseKind activity_kind = CauseKind::kUnknown;
  Confidence confidence = Confidence::kHigh;
  Reason reason = Reason::kNone;
  bool drained = false;
  bool copying = false;  // of copy-only time, not of idle time
};

}  // namespace synctrace
