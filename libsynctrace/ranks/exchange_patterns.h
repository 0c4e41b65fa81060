// SPDX-License-Identifier: Apache-2.0
// Ways of exchanging data that cost all ranks time, seen in the operations of one rank that stands for all: many small
// ones in a row, the same ones in every pass of a step, and a GPU that stands still before them. What another way would
// save comes from the replay of the job.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "ranks/idle_before.h"
#include "ranks/job.h"
#include "whatif/fix.h"

namespace synctrace {

// Below this an operation takes about as long as an empty one.
inline constexpr std::uint64_t kSmallBytes = 1U << 20;

// Units of one rank, in order.
using UnitRun = std::vector<std::uint32_t>;

// Small operations of one kind, of which no result was needed before the last one's.
std::vector<UnitRun> small_runs(const RankSummary& rank);

// Where every pass of a step reduces the same: the operations of all passes but the last.
std::vector<UnitRun> repeated_passes(const RankSummary& rank);

// Large operations, or with `by` a wait any, before which the GPU of most ranks stood still.
UnitRun held_units(const Job& job, std::uint32_t rank, HeldBy by);

// Each run as one operation. Nothing: all operations of a communicator are of one size, so it is not known how much of
// their time does not depend on it.
std::optional<Interval> saving_of_merging(const Job& job, std::uint32_t rank, std::span<const UnitRun> runs);

// Without these operations.
Interval saving_without(const Job& job, std::uint32_t rank, std::span<const UnitRun> runs);

// Without the idle time before these operations, as far as all ranks have it in common.
Interval saving_of_going_on(const Job& job, std::uint32_t rank, const UnitRun& units, HeldBy by);

// In how many ordinary steps.
std::size_t steps_with(const RankSummary& rank, std::span<const UnitRun> runs);

// The transfer of them, as far as it is known.
Nanoseconds transfer_of(const Job& job, std::uint32_t rank, std::span<const UnitRun> runs);

}  // namespace synctrace
