// SPDX-License-Identifier: Apache-2.0
// Whose time the others waited for, and what that rank did with it: in its own time before the operation, what it did
// more than another rank did in the same place. Waiting is charged in full: every nanosecond that a rank waited in an
// ordinary step belongs to one rank, and where that rank's trace was looked at, to one row.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "ranks/job_replay.h"
#include "ranks/stretch_parts.h"
#include "whatif/fix.h"

namespace synctrace {

inline constexpr std::uint32_t kNoName = std::numeric_limits<std::uint32_t>::max();

// How long the others waited for one rank.
struct RankCharge {
  std::uint32_t rank = kNoRank;  // kNoRank: one without a trace, or it is not known which
  Nanoseconds waited_ns = 0;     // by all others together
  Nanoseconds margin_ns = 0;     // how much later than the next rank it came, added up
  std::uint64_t meetings = 0;    // meetings at which it was late by more than kSureMarginNs
};

// Dearest first.
std::vector<RankCharge> charge_ranks(const JobMatch& match, const JobSplit& split, const JobReplay& replay);

// The rank whose own times are the most usual ones, of those that are not left out.
std::uint32_t usual_rank(std::span<const RankSummary> ranks, const JobMatch& match, const JobReplay& replay,
                         std::span<const std::uint32_t> left_out);

// The parts of a rank whose trace was looked at.
struct LookedAt {
  std::uint32_t rank = kNoRank;
  std::vector<StretchPart> parts;
};

// By name: a number that is the same for parts of one sort (a kernel, a cause at any line), and whether it is a kernel.
struct PartSort {
  std::uint32_t number = 0;
  bool is_kernel = false;
};
using PartSorts = std::vector<PartSort>;

struct RankShare {
  std::uint32_t rank = kNoRank;
  Nanoseconds waited_ns = 0;
  Nanoseconds excess_ns = 0;  // how much longer it took there than on another rank
};

struct BlameRow {
  std::uint32_t name = kNoName;  // row of PartNames; kNoName: nothing is known that it did more than others
  Nanoseconds waited_ns = 0;     // by the others, because of it
  Nanoseconds excess_ns = 0;     // how much longer it took than on another rank
  std::uint64_t meetings = 0;    // how many it made others wait at
  std::vector<RankShare> ranks;  // which ranks were late by it, dearest first; sums to waited_ns
  // A kernel whose time on the dearest rank is hardly more than on another one over all steps: it takes longer now on
  // one rank, now on another.
  bool varies = false;
  // Saved if it took no longer than on the other rank. The least: only as far as that rank alone was late. The most: if
  // it were gone.
  Interval saving;
  Nanoseconds with_those_before_ns = 0;  // with all rows before this one
};

// Some of the rows without the others, replayed together. Savings do not add up.
struct BlameSet {
  std::uint64_t rows = 0;  // a bit for each, in their order
  Interval saving;
};

// Asks for sets of the rows that save so much. Each has a switch of its own; those beyond the last one share it. A set
// takes three passes over all units.
struct SetQuestion {
  Nanoseconds worth_ns = 0;
  std::size_t most_switches = 0;
};

struct Blame {
  std::vector<BlameRow> rows;        // largest saving first, but what varies last
  std::vector<BlameSet> sets;        // where they were asked for: of rows that do not vary
  Nanoseconds waited_ns = 0;         // by all ranks in ordinary steps
  Nanoseconds not_looked_at_ns = 0;  // because of ranks whose traces were not looked at,
  Nanoseconds not_known_ns = 0;      // or of a rank that is not known
};

Blame find_blame(std::span<const RankSummary> ranks, const JobMatch& match, const JobSplit& split,
                 const JobReplay& replay, std::span<const LookedAt> looked_at, const PartSorts& sorts,
                 const std::optional<SetQuestion>& asked = std::nullopt);

}  // namespace synctrace
