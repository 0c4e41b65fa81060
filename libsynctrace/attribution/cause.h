// SPDX-License-Identifier: Apache-2.0
// The words of an explanation: why a device did nothing for a stretch of time (the cause), whose doing that was (the
// owner: one row of a table of the trace), and how sure we are. docs/attribution.md says what each cause means.
#pragma once

#include <algorithm>
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
  kCompile,     // a framework compiles or tries out kernels
  kGraphBreak,  // between two graphs of one compiled model
  kGil,
  kPeerThread,  // waiting for another thread: the wake-up itself, or a waker that is not known
  kLock,
  kSleep,
  kIo,
  kCpuStarved,  // ready to run, but not running
  kStreamDependency,
  kDeviceDependency,
  kCopyDependency,  // copy-only time: the next kernel waits for the running copy
  kHostFunction,
  kDispatch,  // the device's own pause between queued pieces of work
  kProfiler,  // our own overhead, or CUPTI's
  kStartup,   // before the device's first work
  kShutdown,  // after its last
  kCapture,   // at the edge of what was recorded
};
inline constexpr std::size_t kCauseKinds = static_cast<std::size_t>(CauseKind::kCapture) + 1;

// What binds a program whose idle time mostly has causes of that class. kNone: no idle time that counts.
enum class CauseClass : std::uint8_t { kSync, kTransfer, kInput, kLaunch, kHost, kDependency, kUnknown, kNone };

// Which fixes apply to a cause.
enum class FixFamily : std::uint8_t {
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

struct CauseTraits {
  enum Flag : std::uint8_t {
    kSleeps = 1,     // the thread slept
    kAfterWait = 2,  // time of the host that would have overlapped the device's work, had a wait not emptied its queue
    kHoldsUp = 4     // host code, and no rule of the loader's or of start-up
  };
  CauseKind kind = CauseKind::kUnknown;
  std::string_view name;
  CauseClass its_class = CauseClass::kHost;
  FixFamily family = FixFamily::kNone;
  std::uint8_t flags = 0;

  constexpr bool has(Flag flag) const noexcept { return (flags & flag) != 0; }
};

// One row of each kind, in their order.
inline constexpr std::array<CauseTraits, kCauseKinds> kCauses = [] {
  using enum CauseTraits::Flag;
  return std::array<CauseTraits, kCauseKinds>{{
      {CauseKind::kUnknown, "unknown", CauseClass::kUnknown, FixFamily::kNone, 0},
      {CauseKind::kStreamSync, "stream-sync", CauseClass::kSync, FixFamily::kWait, 0},
      {CauseKind::kDeviceSync, "device-sync", CauseClass::kSync, FixFamily::kWait, 0},
      {CauseKind::kEventSync, "event-sync", CauseClass::kSync, FixFamily::kWait, 0},
      {CauseKind::kPolling, "polling", CauseClass::kSync, FixFamily::kWait, 0},
      {CauseKind::kFrameworkWait, "framework-wait", CauseClass::kSync, FixFamily::kWait, kSleeps},
      {CauseKind::kBlockingCopy, "blocking-memcpy", CauseClass::kTransfer, FixFamily::kWait, 0},
      {CauseKind::kPageableCopy, "pageable-copy", CauseClass::kTransfer, FixFamily::kWait, 0},
      {CauseKind::kHiddenSync, "hidden-sync", CauseClass::kSync, FixFamily::kWait, 0},
      {CauseKind::kAllocation, "alloc-in-loop", CauseClass::kHost, FixFamily::kMemory, kAfterWait | kHoldsUp},
      {CauseKind::kRelease, "free-sync", CauseClass::kSync, FixFamily::kMemory, kHoldsUp},
      {CauseKind::kModuleLoad, "module-load", CauseClass::kHost, FixFamily::kCode, 0},
      {CauseKind::kLaunchBound, "launch-bound", CauseClass::kLaunch, FixFamily::kLaunch, kAfterWait | kHoldsUp},
      {CauseKind::kLatency, "launch-latency", CauseClass::kLaunch, FixFamily::kLaunch, kAfterWait},
      {CauseKind::kInput, "input-bound", CauseClass::kInput, FixFamily::kInput, kSleeps},
      {CauseKind::kLoaderCompute, "loader-compute", CauseClass::kInput, FixFamily::kInput, kAfterWait},
      {CauseKind::kHostCompute, "host-compute", CauseClass::kHost, FixFamily::kHost, kAfterWait | kHoldsUp},
      {CauseKind::kOtherCall, "cuda-call", CauseClass::kHost, FixFamily::kNone, kAfterWait | kHoldsUp},
      {CauseKind::kGarbageCollection, "python-gc", CauseClass::kHost, FixFamily::kCollector, kAfterWait | kHoldsUp},
      {CauseKind::kCompile, "compile", CauseClass::kHost, FixFamily::kCode, kAfterWait | kHoldsUp},
      {CauseKind::kGraphBreak, "graph-break", CauseClass::kHost, FixFamily::kHost, kAfterWait | kHoldsUp},
      {CauseKind::kGil, "gil", CauseClass::kHost, FixFamily::kHost, kSleeps | kHoldsUp},
      {CauseKind::kPeerThread, "thread-wait", CauseClass::kHost, FixFamily::kNone, kSleeps | kAfterWait | kHoldsUp},
      {CauseKind::kLock, "lock", CauseClass::kHost, FixFamily::kHost, kSleeps | kHoldsUp},
      {CauseKind::kSleep, "sleep", CauseClass::kHost, FixFamily::kHost, kSleeps | kHoldsUp},
      {CauseKind::kIo, "io", CauseClass::kHost, FixFamily::kHost, kSleeps | kHoldsUp},
      {CauseKind::kCpuStarved, "cpu-starved", CauseClass::kHost, FixFamily::kHost, 0},
      {CauseKind::kStreamDependency, "dependency-wait", CauseClass::kDependency, FixFamily::kDependency, 0},
      {CauseKind::kDeviceDependency, "dependency-device", CauseClass::kDependency, FixFamily::kDependency, 0},
      {CauseKind::kCopyDependency, "dependency-copy", CauseClass::kTransfer, FixFamily::kNone, 0},
      {CauseKind::kHostFunction, "dependency-host-function", CauseClass::kDependency, FixFamily::kNone, 0},
      {CauseKind::kDispatch, "device-dispatch", CauseClass::kLaunch, FixFamily::kNone, 0},
      {CauseKind::kProfiler, "profiler", CauseClass::kHost, FixFamily::kProfiler, 0},
      {CauseKind::kStartup, "startup", CauseClass::kNone, FixFamily::kNone, 0},
      {CauseKind::kShutdown, "shutdown", CauseClass::kNone, FixFamily::kNone, 0},
      {CauseKind::kCapture, "capture-edge", CauseClass::kNone, FixFamily::kNone, 0},
  }};
}();
static_assert(std::ranges::all_of(kCauses, [](const CauseTraits& row) {
  return !row.name.empty() && &kCauses[static_cast<std::size_t>(row.kind)] == &row;
}));

constexpr const CauseTraits& traits_of(CauseKind kind) noexcept {
  const auto index = static_cast<std::size_t>(kind);
  return kCauses[index < kCauses.size() ? index : 0];
}

// "stream-sync". Static storage.
constexpr std::string_view cause_name(CauseKind kind) noexcept { return traits_of(kind).name; }

// Before the first work, after the last, outside what was recorded: true, but nothing to fix.
constexpr bool is_edge(CauseKind kind) noexcept { return traits_of(kind).its_class == CauseClass::kNone; }

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
  bool copying = false;  // copy-only time, not idle time
};

}  // namespace synctrace
