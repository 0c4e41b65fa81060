// SPDX-License-Identifier: Apache-2.0
// The job once more, all ranks joined at their collectives, with some ranks' own time between two of them cut shorter.
// A collective ends as much earlier as its last rank comes earlier, so what is saved on one rank is limited by whoever
// is late next. All in lengths of time: no clock is needed. One pass over all units.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "ranks/match.h"
#include "ranks/split.h"

namespace synctrace {

// By rank and unit, how much of its own time since its last unit is cut: the rank is ready that much earlier. Empty for
// a rank that loses nothing.
using Cuts = std::vector<std::vector<Nanoseconds>>;

// By meeting, how the operation itself changes. Empty: not at all.
struct MeetingCut {
  Nanoseconds shorter_ns = 0;  // the transfer; less than zero: longer
  bool is_gone = false;        // nobody meets any more
};
using MeetingCuts = std::vector<MeetingCut>;

class JobReplay {
 public:
  // All must outlive the object.
  JobReplay(std::span<const RankSummary> ranks, const JobMatch& match, const JobSplit& split);

  // By how much the job would be shorter: the median of what each rank would have gained by its last unit in steps.
  Nanoseconds saving(const Cuts& cuts, const MeetingCuts& operations = {}) const;

  // Each rank's own time before each unit, made no longer than that of the middle rank.
  Cuts all_alike() const;

  // Whose time made a rank the last at a meeting: its own, or that of a rank that it had waited for before. None: it is
  // not known. A send and a receive may have several, because nothing else need join the two ranks: all that the late
  // one did while the other waited.
  struct Origin {
    std::uint32_t rank = kNoRank;
    std::uint32_t unit = 0;  // before which it lost the time
    Nanoseconds waited_ns = 0;
  };
  // Adds up to what was waited there.
  std::span<const Origin> origins_of(std::uint32_t meeting) const {
    return std::span(origins_).subspan(origins_at_[meeting].first, origins_at_[meeting].second);
  }

  // Own time before a unit, and that of the middle one of those who met there.
  Nanoseconds own_ns(Member member) const;
  Nanoseconds middle_ns(std::uint32_t meeting) const noexcept { return middles_[meeting]; }

 private:
  void find_order();
  void find_middles();
  void find_slowed();
  void find_origins();
  void find_origin(std::uint32_t meeting);
  void walk_back(std::uint32_t meeting, Member last);
  void add_origins(std::uint32_t meeting, std::vector<Origin> origins);
  std::uint32_t main_origin_rank(std::uint32_t meeting) const;
  bool was_kept_alone(std::span<const Member> members, std::uint32_t meeting, Member kept) const;

  const CollectiveUnit& unit_at(std::uint32_t rank, std::uint32_t unit) const { return ranks_[rank].units[unit]; }
  bool is_before(std::uint32_t rank, std::uint32_t unit, std::uint32_t other) const {
    return turns_[rank][unit] < turns_[rank][other];
  }

  std::span<const RankSummary> ranks_;
  const JobMatch& match_;
  const JobSplit& split_;
  // Units that end together, in members_; nodes come behind all that they need (node_order.h).
  struct Node {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
    bool together = false;
  };
  std::vector<Node> nodes_;
  std::vector<Member> members_;
  std::vector<std::vector<std::uint32_t>> turns_;  // by rank and unit, when its node is replayed
  std::vector<Nanoseconds> middles_;
  std::vector<std::vector<Nanoseconds>> slowed_;  // by rank and unit, its own work by a kernel that waits beside it
  std::vector<Origin> origins_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> origins_at_;  // by meeting, the first of them and how many
};

}  // namespace synctrace
