// SPDX-License-Identifier: Apache-2.0
// All that could have been a wait of the host for the GPU, in one list: calls, runs of queries, and sleeps outside of
// CUDA. Every table of waits is a grouping of this list, so no two of them can judge one event differently.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "attribution/attribute.h"
#include "findings/calls/stack_places.h"
#include "findings/report/rules.h"
#include "findings/report/wait_figures.h"
#include "model/trace.h"

namespace synctrace {

inline constexpr std::uint32_t kNoCall = 0xffff'ffff;

// A framework's read of a value is a copy and the synchronisation behind it: one statement, and so one event.
struct PossibleWait {
  OwnerTable table = OwnerTable::kCall;  // or kPoll or kHostWait
  std::uint32_t row = 0;                 // the copy's, where there are two calls
  std::uint32_t sync_row = kNoCall;      // the synchronisation behind a copy
  StackPlace place{};

  bool is_pair() const noexcept { return sync_row != kNoCall; }
};

// The rows of an event's calls. The first one gives the statement its rule: by what it is, not by which of the two
// happened to wait in this run, so that the statement keeps its rule.
struct WaitParts {
  std::uint32_t first = 0;
  std::uint32_t second = kNoCall;
};

struct WaitOrigin {
  Nanoseconds begin_ns = 0;
  ThreadId thread{};
  StackId stack{};
};

class Waits {
 public:
  // The arguments must outlive the object.
  Waits(const Trace& trace, const Attribution& attribution, StackPlaces& places);

  // Calls, polls, sleeps: each in the order of its table.
  const std::vector<PossibleWait>& events() const noexcept { return events_; }

  // Whether this event was a wait, or its call is one that can wait.
  bool can_wait(const PossibleWait& event) const;
  WaitFigures figures(const PossibleWait& event) const;
  WaitParts parts(const PossibleWait& event) const;
  WaitOrigin origin(const PossibleWait& event) const;

  const Trace& trace() const noexcept { return trace_; }
  const Judgement& judgement(std::uint32_t call) const { return attribution_.judgements[call]; }

 private:
  void add_calls(StackPlaces& places);
  void add_sleeps(StackPlaces& places);

  const Trace& trace_;
  const Attribution& attribution_;
  std::vector<PossibleWait> events_;
};

bool is_pageable_copy(const Call& call) noexcept;

// The figures of one row.
WaitFigures figures_of(const Call& call, const Judgement& judgement) noexcept;
WaitFigures figures_of(const Poll& poll) noexcept;
WaitFigures figures_of(const HostWait& wait, const GpuSleep& sleep) noexcept;

}  // namespace synctrace
