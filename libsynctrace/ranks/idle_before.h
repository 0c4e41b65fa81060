// SPDX-License-Identifier: Apache-2.0
// Why a rank's GPU had nothing to do directly before a collective: nothing ran beside the host's doing, so nothing
// could overlap.
#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include "ranks/rank_summary.h"

namespace synctrace {

enum class HeldBy : std::uint8_t { kNothing, kWait, kHost };

// A wait for the GPU, or something else of the host that is no rule of the loader's or of start-up.
HeldBy held_by(CauseKind kind) noexcept;

// The rows [first, last) of `parts`, which are in order of time, that lie one behind the other up to t.
std::pair<std::size_t, std::size_t> parts_before(std::span<const Part> parts, Nanoseconds t);

// The cause of one part of a gap before a unit. What follows a wait is the wait's doing only if the wait ended in the
// gap: one that ended long before has emptied the queue, but the GPU had work since then.
CauseKind kind_before(const Trace& trace, const Part& part, Nanoseconds gap_begin_ns);

// Fills drained_ns and held_ns of the units.
void find_idle_before(const Trace& trace, const Attribution& attribution, RankSummary& rank);

}  // namespace synctrace
