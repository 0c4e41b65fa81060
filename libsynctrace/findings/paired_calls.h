// SPDX-License-Identifier: Apache-2.0
// Which calls one statement of the user's makes: a framework's read of a value is a copy and the synchronisation behind
// it, and both are one finding.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "attribution/sync_test.h"
#include "findings/stack_places.h"
#include "model/trace.h"

namespace synctrace {

struct PairedCall {
  static constexpr std::size_t kNoRow = static_cast<std::size_t>(-1);

  std::size_t row = 0;            // of Trace::calls
  std::size_t sync_row = kNoRow;  // of the synchronisation behind a copy; kNoRow: there is none
  StackPlace place{};             // of the user's line (StackPlaces::place_of)
};

// Of all calls that `is_covered`, in the order of time.
std::vector<PairedCall> pair_calls(const Trace& trace, StackPlaces& places,
                                   const std::function<bool(const Call&)>& is_covered);

// Whether a copy, and not the synchronisation behind it, gives the statement its rule: by what it is, not by which of
// the two happened to wait in this run, so that the statement keeps its rule.
bool copy_leads(const Call& copy) noexcept;

// A synchronisation that finds nothing left to wait for is not redundant when the copy before it did the waiting.
Verdict verdict_of_pair(Verdict copy, Verdict sync) noexcept;

}  // namespace synctrace
