// SPDX-License-Identifier: Apache-2.0
#include "attribution/cause.h"

namespace synctrace {
namespace {

constexpr std::array<std::string_view, kCauseKinds> kNames = {
    "unknown",
    "stream-sync",
    "device-sync",
    "event-sync",
    "polling",
    "framework-wait",
    "blocking-memcpy",
    "pageable-copy",
    "hidden-sync",
    "alloc-in-loop",
    "free-sync",
    "module-load",
    "launch-bound",
    "launch-latency",
    "input-bound",
    "loader-compute",
    "host-compute",
    "cuda-call",
    "python-gc",
    "gil",
    "thread-wait",
    "lock",
    "sleep",
    "io",
    "cpu-starved",
    "dependency-wait",
    "dependency-device",
    "dependency-copy",
    "dependency-host-function",
    "device-dispatch",
    "profiler",
    "startup",
    "shutdown",
    "capture-edge",
};

}  // namespace

std::string_view cause_name(CauseKind kind) noexcept {
  const std::size_t index = static_cast<std::size_t>(kind);
  return index < kNames.size() ? kNames[index] : kNames[0];
}

std::string_view reason_words(Reason reason) noexcept {
  switch (reason) {
    case Reason::kNone: return "";
    case Reason::kLateOnDevice: return "the work was queued in time but started late";
    case Reason::kSlowDispatch: return "the work started much later after its launch than others do";
    case Reason::kNoLaunch: return "the call that issued the work was not recorded";
    case Reason::kNoHostRecords: return "the thread left no records";
    case Reason::kTooManyJumps: return "threads woke each other in a circle";
    case Reason::kTooManySteps: return "more host records than one gap is explained by";
  }
  return "";
}

}  // namespace synctrace
