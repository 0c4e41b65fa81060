// SPDX-License-Identifier: Apache-2.0
// All that the host did, of all threads together, in the order in which it can be run again: what issues work or waits
// for it by its begin, a sleep that another thread ended by its end, behind the moment at which that thread ended it.
#pragma once

#include <cstdint>
#include <vector>

#include "attribution/evidence.h"
#include "steps/steps.h"

namespace synctrace {

enum class TurnKind : std::uint8_t {  // the order of turns at the same time
  kStepEnd,                           // a step ends, and no other one follows; no thread
  kStep,                              // a step begins; no thread
  kNewStep,                           // a step begins anew, on the thread that issues its first work
  kPost,                              // the thread ends another one's sleep: row of Trace::host_waits
  kSleepEnd,                          // row of Trace::host_waits
  kCall,
  kLaunch,
  kPoll,
  kWork,  // row of Trace::operations, issued by a call inside another item, or by none that is known
};

inline bool is_of_step(TurnKind kind) noexcept { return kind <= TurnKind::kNewStep; }

struct Turn {
  Nanoseconds time_ns = 0;
  Nanoseconds begin_ns = 0;  // the item's begin, or the end of the one before if they overlap
  std::uint32_t row = 0;
  HostTimeline::Index thread = HostTimeline::kNoThread;
  TurnKind kind = TurnKind::kStep;
};

std::vector<Turn> host_turns(const Evidence& evidence, const Steps& steps);

// The turns, among all turns of steps, that are the begin and the end of each step.
struct StepMarks {
  std::size_t begin = 0;
  std::size_t end = 0;
};
std::vector<StepMarks> step_marks(const std::vector<Step>& steps);

// The thread that ended a sleep, where the trace tells; else kNoThread.
HostTimeline::Index waker_of(const Evidence& evidence, const HostWait& wait);

}  // namespace synctrace
