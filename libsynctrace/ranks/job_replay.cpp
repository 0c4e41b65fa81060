// SPDX-License-Identifier: Apache-2.0
#include "ranks/job_replay.h"

#include <algorithm>
#include <utility>

#include "model/tolerances.h"
#include "ranks/node_order.h"

namespace synctrace {
namespace {

constexpr int kMostInCircle = 64;  // units

Nanoseconds middle_of(std::vector<Nanoseconds>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

JobReplay::JobReplay(std::span<const RankSummary> ranks, const JobMatch& match, const JobSplit& split)
    : ranks_(ranks), match_(match), split_(split) {
  find_order();
  find_middles();
  find_slowed();
  find_origins();
}

Nanoseconds JobReplay::own_ns(Member member) const { return ranks_[member.rank].units[member.unit].own.length_ns(); }

// A meeting is one node, and so is each unit that met nobody, and each kernel of pairs, which may have met several.
void JobReplay::find_order() {
  std::vector<Node> nodes;
  std::vector<Member> members;
  std::vector<std::vector<std::uint32_t>> node_of(ranks_.size());
  for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank)
    node_of[rank].assign(ranks_[rank].units.size(), kNoMeeting);
  for (const Meeting& meeting : match_.meetings) {
    if (meeting.exchange == Exchange::kPairs) continue;
    for (const Member member : match_.members_of(meeting)) {
      node_of[member.rank][member.unit] = static_cast<std::uint32_t>(nodes.size());
      members.push_back(member);
    }
    nodes.push_back({static_cast<std::uint32_t>(members.size()) - meeting.count, meeting.count,
                     meeting.exchange == Exchange::kTogether});
  }
  for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
    for (std::uint32_t unit = 0; unit < ranks_[rank].units.size(); ++unit) {
      if (node_of[rank][unit] != kNoMeeting) continue;
      node_of[rank][unit] = static_cast<std::uint32_t>(nodes.size());
      nodes.push_back({static_cast<std::uint32_t>(members.size()), 1, false});
      members.push_back({rank, unit});
    }
  }

  std::vector<std::pair<std::uint32_t, std::uint32_t>> needs;  // node, and the one that needs it
  const auto need_those_before = [&](std::uint32_t node, Member member) {
    const CollectiveUnit& unit = ranks_[member.rank].units[member.unit];
    for (const std::uint32_t before : {unit.after, unit.behind}) {
      if (before == 0 || node_of[member.rank][before - 1] == node) continue;
      needs.emplace_back(node_of[member.rank][before - 1], node);
    }
  };
  for (std::uint32_t node = 0; node < nodes.size(); ++node) {
    for (std::uint32_t i = 0; i < nodes[node].count; ++i) need_those_before(node, members[nodes[node].first + i]);
    if (nodes[node].count > 1) continue;
    const Member own = members[nodes[node].first];
    const std::uint32_t meeting = match_.meeting_of[own.rank][own.unit];
    if (meeting == kNoMeeting) continue;
    for (const Member other : match_.members_of(match_.meetings[meeting])) {
      if (other.rank != own.rank) need_those_before(node, other);
    }
  }
  nodes_.reserve(nodes.size());
  members_.reserve(members.size());
  turns_ = node_of;
  for (const std::uint32_t next : order_of_nodes(nodes.size(), node_of, std::move(needs))) {
    const Node& node = nodes[next];
    nodes_.push_back({static_cast<std::uint32_t>(members_.size()), node.count, node.together});
    for (std::uint32_t i = 0; i < node.count; ++i) {
      const Member member = members[node.first + i];
      members_.push_back(member);
      turns_[member.rank][member.unit] = static_cast<std::uint32_t>(nodes_.size());
    }
  }
}

void JobReplay::find_middles() {
  middles_.resize(match_.meetings.size());
  std::vector<Nanoseconds> own;
  for (std::size_t i = 0; i < match_.meetings.size(); ++i) {
    own.clear();
    for (const Member member : match_.members_of(match_.meetings[i])) own.push_back(own_ns(member));
    middles_[i] = middle_of(own);
  }
}

// A kernel that waits for other ranks takes multiprocessors from the work beside it. By how much that is slower is seen
// on the rank that did the same work while its own kernels did not wait; it is not more than twice as slow.
// Where the two end one stretch and begin the next differs a little: what one seems too long, the next is too short.
void JobReplay::find_slowed() {
  for (const RankSummary& rank : ranks_) slowed_.emplace_back(rank.units.size(), 0);
  for (const Meeting& meeting : match_.meetings) {
    if (meeting.exchange != Exchange::kTogether) continue;
    Nanoseconds least_ns = kLatestTime;
    const auto waits_beside = [&](Member one) {
      const std::uint32_t beside = ranks_[one.rank].units[one.unit].beside;
      return beside > 0 && split_.units[one.rank][beside - 1].wait_ns >= kSureMarginNs;
    };
    for (const Member one : match_.members_of(meeting)) {
      if (!waits_beside(one)) least_ns = std::min(least_ns, ranks_[one.rank].units[one.unit].work_ns);
    }
    for (const Member one : match_.members_of(meeting)) {
      if (least_ns == kLatestTime || !waits_beside(one)) continue;
      const CollectiveUnit& unit = ranks_[one.rank].units[one.unit];
      const Nanoseconds begin_ns = ranks_[one.rank].units[unit.beside - 1].span.begin_ns;
      const TimeSpan waiting = {begin_ns, begin_ns + split_.units[one.rank][unit.beside - 1].wait_ns};
      const Nanoseconds most_ns = intersect(unit.own, waiting).length_ns() / 2;
      slowed_[one.rank][one.unit] = std::clamp(unit.work_ns - least_ns, -most_ns, most_ns);
    }
  }
}

void JobReplay::find_origins() {
  origins_at_.resize(match_.meetings.size());
  std::vector<bool> done(match_.meetings.size(), false);
  for (const Node& node : nodes_) {
    for (const Member member : std::span(members_).subspan(node.first, node.count)) {
      const std::uint32_t meeting = match_.meeting_of[member.rank][member.unit];
      if (meeting == kNoMeeting || done[meeting]) continue;
      done[meeting] = true;
      find_origin(meeting);
    }
  }
  for (std::uint32_t meeting = 0; meeting < done.size(); ++meeting) {  // another pair of a kernel of several
    if (!done[meeting]) find_origin(meeting);
  }
}

// A rank that comes late although it took no longer than the others since then was late before: of itself, or because
// it had been kept by others.
void JobReplay::find_origin(std::uint32_t meeting) {
  const MeetingSplit& split = split_.meetings[meeting];
  if (!split.is_split || split.last == kNoRank) return;
  const std::span members = match_.members_of(match_.meetings[meeting]);
  const auto last = std::find_if(members.begin(), members.end(), [&](Member one) { return one.rank == split.last; });
  if (last == members.end()) return;
  if (match_.meetings[meeting].exchange == Exchange::kPairs) return walk_back(meeting, *last);
  const CollectiveUnit& unit = ranks_[last->rank].units[last->unit];
  if (2 * (own_ns(*last) - middles_[meeting]) < split.margin_ns && unit.after > 0) {
    const std::uint32_t before = match_.meeting_of[last->rank][unit.after - 1];
    const std::uint32_t rank = before == kNoMeeting ? kNoRank : main_origin_rank(before);
    const bool was_late = rank == last->rank && !unit.after_end;
    if (rank != kNoRank && (was_late || was_kept_alone(members, before, {last->rank, unit.after - 1}))) {
      const std::span known = origins_of(before);
      return add_origins(meeting, {known.begin(), known.end()});
    }
  }
  add_origins(meeting, {{last->rank, last->unit, split.waited_ns}});
}

// Charges the late rank of a pair for its time since it last waited, or for a step's length: either side goes on at its
// own pace until then. If it waited while the other one waits now, that part is charged to whoever kept it.
void JobReplay::walk_back(std::uint32_t meeting, Member last) {
  constexpr int kMostUnits = 256;
  std::vector<Origin> origins;
  const RankSummary& rank = ranks_[last.rank];
  const std::vector<CollectiveUnit>& units = rank.units;
  Nanoseconds left_ns = split_.meetings[meeting].margin_ns;
  const auto steps = static_cast<Nanoseconds>(rank.ordinary_steps);
  Nanoseconds window_ns = std::max(left_ns, steps > 0 ? rank.in_steps_ns / steps : 0);
  std::uint32_t at = last.unit;
  for (int i = 0; i < kMostUnits && window_ns > 0; ++i) {
    const Nanoseconds own_ns = std::min(window_ns, units[at].own.length_ns());
    if (own_ns > 0) origins.push_back({last.rank, at, own_ns});
    left_ns -= own_ns;
    window_ns -= own_ns;
    if (units[at].after == 0) break;
    const bool is_kept = units[at].after_end;
    at = units[at].after - 1;
    if (!is_kept) continue;
    const std::uint32_t before = match_.meeting_of[last.rank][at];
    if (before == kNoMeeting || before == meeting || split_.units[last.rank][at].wait_ns < kSureMarginNs) continue;
    window_ns = 0;
    const std::span known = origins_of(before);
    if (known.empty() || left_ns <= 0) continue;
    Nanoseconds all_ns = 0;
    for (const Origin& one : known) all_ns = add_saturated(all_ns, one.waited_ns);
    for (const Origin& one : known) {
      const double share = all_ns > 0 ? static_cast<double>(one.waited_ns) / static_cast<double>(all_ns) : 0;
      origins.push_back({one.rank, one.unit, static_cast<Nanoseconds>(share * static_cast<double>(left_ns))});
    }
  }
  if (origins.empty()) origins.push_back({last.rank, last.unit, 1});
  add_origins(meeting, std::move(origins));
}

// Shares out the waiting in these proportions; the last one takes what rounding leaves.
void JobReplay::add_origins(std::uint32_t meeting, std::vector<Origin> origins) {
  const Nanoseconds waited_ns = split_.meetings[meeting].waited_ns;
  double all_ns = 0;
  for (const Origin& one : origins) all_ns += static_cast<double>(one.waited_ns);
  Nanoseconds left_ns = waited_ns;
  for (Origin& one : origins) {
    const double share = all_ns > 0 ? static_cast<double>(one.waited_ns) / all_ns : 1;
    const bool is_last = &one == &origins.back();
    one.waited_ns =
        is_last ? left_ns : std::min(left_ns, static_cast<Nanoseconds>(share * static_cast<double>(waited_ns)));
    left_ns -= one.waited_ns;
  }
  origins_at_[meeting] = {static_cast<std::uint32_t>(origins_.size()), static_cast<std::uint32_t>(origins.size())};
  origins_.insert(origins_.end(), origins.begin(), origins.end());
}

// The rank to which most of the waiting there is charged; kNoRank: none is.
std::uint32_t JobReplay::main_origin_rank(std::uint32_t meeting) const {
  const std::span known = origins_of(meeting);
  const auto most = std::max_element(known.begin(), known.end(),
                                     [](const Origin& a, const Origin& b) { return a.waited_ns < b.waited_ns; });
  return most == known.end() ? kNoRank : most->rank;
}

// Whether it waited there for others, and some of the ranks that meet now did not.
bool JobReplay::was_kept_alone(std::span<const Member> members, std::uint32_t meeting, Member kept) const {
  if (split_.units[kept.rank][kept.unit].wait_ns < kSureMarginNs) return false;
  return !std::all_of(members.begin(), members.end(), [&](Member one) {
    const std::uint32_t after = ranks_[one.rank].units[one.unit].after;
    return after != 0 && match_.meeting_of[one.rank][after - 1] == meeting;
  });
}

Cuts JobReplay::all_alike() const {
  Cuts cuts(ranks_.size());
  for (std::size_t i = 0; i < match_.meetings.size(); ++i) {
    // The sides of a pair do different things before it.
    if (!match_.meetings[i].in_steps || match_.meetings[i].exchange == Exchange::kPairs) continue;
    for (const Member member : match_.members_of(match_.meetings[i])) {
      if (cuts[member.rank].empty()) cuts[member.rank].resize(ranks_[member.rank].units.size(), 0);
      cuts[member.rank][member.unit] = std::max<Nanoseconds>(0, own_ns(member) - middles_[i]);
    }
  }
  return cuts;
}

Nanoseconds JobReplay::saving(const Cuts& cuts, const MeetingCuts& operations) const {
  // How much earlier than recorded each rank is ready for a unit, and each unit begins and ends.
  struct Gain {
    Nanoseconds ready_ns = 0;
    Nanoseconds begin_ns = 0;
    Nanoseconds end_ns = 0;
  };
  std::vector<std::vector<Gain>> gains(ranks_.size());
  for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) gains[rank].resize(ranks_[rank].units.size());
  const auto begin_gain = [&](Member member) {
    const CollectiveUnit& unit = ranks_[member.rank].units[member.unit];
    std::vector<Gain>& own = gains[member.rank];
    const auto cut_ns = [&](std::uint32_t at) { return cuts[member.rank].empty() ? 0 : cuts[member.rank][at]; };
    // From the last unit that was replayed: where ranks meet in circles, those in between come later.
    Nanoseconds ready_ns = cut_ns(member.unit);
    std::uint32_t at = member.unit;
    for (int i = 0; i < kMostInCircle && unit_at(member.rank, at).after != 0; ++i) {
      const bool after_end = unit_at(member.rank, at).after_end;
      at = unit_at(member.rank, at).after - 1;
      if (is_before(member.rank, at, member.unit)) {
        ready_ns += after_end ? own[at].end_ns : own[at].ready_ns;
        break;
      }
      ready_ns += cut_ns(at);
    }
    Nanoseconds faster_ns = 0;
    if (const Nanoseconds slowed_ns = slowed_[member.rank][member.unit]; slowed_ns != 0) {
      const Gain& beside = own[unit.beside - 1];
      const auto waited_ns = static_cast<double>(split_.units[member.rank][unit.beside - 1].wait_ns);
      const double gone = std::clamp(static_cast<double>(beside.end_ns - beside.begin_ns) / waited_ns, 0.0, 1.0);
      faster_ns = static_cast<Nanoseconds>(gone * static_cast<double>(slowed_ns));
    }
    own[member.unit].ready_ns = ready_ns + faster_ns;
    own[member.unit].begin_ns = own[member.unit].ready_ns;
    if (unit.behind == 0 || !is_before(member.rank, unit.behind - 1, member.unit)) return own[member.unit].begin_ns;
    // A unit can begin when the rank is ready and its stream free. If it began later than that, it always does.
    const Nanoseconds free_ns = ranks_[member.rank].units[unit.behind - 1].span.end_ns + kUnitPauseNs;
    const Nanoseconds could_ns = std::max(unit.own.end_ns, free_ns);
    own[member.unit].begin_ns = std::min(own[member.unit].ready_ns + could_ns - unit.own.end_ns,
                                         own[unit.behind - 1].end_ns + could_ns - free_ns);
    return own[member.unit].begin_ns;
  };
  const auto waits = [&](Member member) -> const UnitSplit& { return split_.units[member.rank][member.unit]; };
  for (const Node& node : nodes_) {
    const std::span members = std::span(members_).subspan(node.first, node.count);
    if (node.together) {
      const std::uint32_t meeting = match_.meeting_of[members.front().rank][members.front().unit];
      const MeetingCut cut = operations.empty() ? MeetingCut{} : operations[meeting];
      if (cut.is_gone) {
        for (const Member member : members) {
          const Nanoseconds length_ns = ranks_[member.rank].units[member.unit].span.length_ns();
          gains[member.rank][member.unit].end_ns = begin_gain(member) + length_ns;
        }
        continue;
      }
      Nanoseconds all_ns = kLatestTime;
      for (const Member member : members) all_ns = std::min(all_ns, begin_gain(member) + waits(member).wait_ns);
      for (const Member member : members) gains[member.rank][member.unit].end_ns = all_ns + cut.shorter_ns;
      continue;
    }
    for (const Member member : members) {
      Nanoseconds end_ns = begin_gain(member);
      const std::uint32_t meeting = match_.meeting_of[member.rank][member.unit];
      if (waits(member).wait_ns > 0 && waits(member).waits_for != kNoRank && meeting != kNoMeeting) {
        end_ns += waits(member).wait_ns;
        for (const Member other : match_.members_of(match_.meetings[meeting])) {
          if (other.rank == waits(member).waits_for) end_ns = std::min(end_ns, begin_gain(other));
        }
      } else if (waits(member).sender != kNoRank && meeting != kNoMeeting) {
        for (const Member other : match_.members_of(match_.meetings[meeting])) {
          if (other.rank == waits(member).sender)
            end_ns = std::min(end_ns, begin_gain(other) + waits(member).sent_before_ns);
        }
      }
      gains[member.rank][member.unit].end_ns = end_ns;
    }
  }
  std::vector<Nanoseconds> savings;
  for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
    const std::vector<CollectiveUnit>& units = ranks_[rank].units;
    if (units.empty()) continue;
    std::size_t last = units.size() - 1;
    const bool has_steps = ranks_[rank].ordinary_steps > 0;
    while (has_steps && last > 0 && !units[last].in_steps) --last;
    savings.push_back(gains[rank][last].end_ns);
  }
  return savings.empty() ? 0 : middle_of(savings);
}

}  // namespace synctrace
