// SPDX-License-Identifier: Apache-2.0
#include "ranks/split.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "model/tolerances.h"

namespace synctrace {
namespace {

// Operations of one sort take about as long: same communicator, same work, same side of the rank.
using Sort = std::tuple<std::uint32_t, std::uint64_t, std::uint32_t>;

// The rank that came late, and when it began, on the common clock.
struct Late {
  std::uint32_t rank = kNoRank;
  Nanoseconds began_ns = kNeverNs;
};

// The meeting that has the waiting of a unit in its sum.
struct Counted {
  std::uint32_t meeting = 0;
  Late late;
};

class Splitter {
 public:
  Splitter(std::span<const RankSummary> ranks, const JobMatch& match, const RankClocks& clocks)
      : ranks_(ranks), match_(match), clocks_(clocks) {}

  JobSplit run() {
    split_.meetings.resize(match_.meetings.size());
    for (const RankSummary& rank : ranks_) {
      split_.units.emplace_back(rank.units.size());
      counted_.emplace_back(rank.units.size());
      one_peer_.push_back(units_of_one_peer(rank));
    }
    find_usual();
    for (std::uint32_t i = 0; i < match_.meetings.size(); ++i) {
      const Meeting& meeting = match_.meetings[i];
      switch (meeting.exchange) {
        case Exchange::kTogether: together(i); break;
        case Exchange::kFromRoot:
        case Exchange::kToRoot: rooted(i); break;
        case Exchange::kPairs: pair(i); break;
      }
    }
    return std::move(split_);
  }

 private:
  const CollectiveUnit& unit_of(Member member) const { return ranks_[member.rank].units[member.unit]; }
  Nanoseconds length_of(Member member) const { return unit_of(member).span.length_ns(); }
  UnitSplit& split_of(Member member) { return split_.units[member.rank][member.unit]; }

  bool is_root(Member member) const {
    const CollectiveUnit& unit = unit_of(member);
    const RankCommunicator& communicator = ranks_[member.rank].communicators[unit.communicator];
    return communicator.ranks > 0 && unit.root >= 0 && static_cast<std::uint32_t>(unit.root) == communicator.rank;
  }

  Nanoseconds shortest(const Meeting& meeting) const {
    Nanoseconds least_ns = kLatestTime;
    for (const Member member : match_.members_of(meeting)) least_ns = std::min(least_ns, length_of(member));
    return least_ns;
  }

  // By unit, whether all that it sends and receives is exchanged with one rank.
  static std::vector<bool> units_of_one_peer(const RankSummary& rank) {
    std::vector<bool> of_one(rank.units.size(), true);
    for (std::size_t i = 1; i < rank.pairs.size(); ++i) {
      const PairOperation& one = rank.pairs[i];
      const PairOperation& before = rank.pairs[i - 1];
      const bool same = one.peer == before.peer && one.communicator == before.communicator;
      if (one.unit == before.unit && !same && one.unit < of_one.size()) of_one[one.unit] = false;
    }
    return of_one;
  }

  // Both sides leave at once, unless what was sent is kept for a receiver that is not there yet; then neither waits.
  bool is_together(const Meeting& meeting) const {
    if (meeting.exchange != Exchange::kPairs) return meeting.exchange == Exchange::kTogether;
    const std::span members = match_.members_of(meeting);
    return std::all_of(members.begin(), members.end(), [&](Member one) { return one_peer_[one.rank][one.unit]; });
  }

  // In a rooted operation, and in pairs with several ranks, each rank has a usual length of its own.
  Sort sort_of(const Meeting& meeting, Member member) const {
    const std::uint32_t side = is_together(meeting) ? 0 : member.rank + 1;
    return {meeting.communicator, unit_of(member).signature, side};
  }

  void find_usual() {
    std::map<Sort, std::vector<Nanoseconds>> lengths;
    for (const Meeting& meeting : match_.meetings) {
      if (is_together(meeting)) {
        lengths[sort_of(meeting, match_.members[meeting.first])].push_back(shortest(meeting));
        continue;
      }
      for (const Member member : match_.members_of(meeting))
        lengths[sort_of(meeting, member)].push_back(length_of(member));
    }
    for (auto& [sort, values] : lengths) {
      const auto tenth = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 10);
      std::nth_element(values.begin(), tenth, values.end());
      usual_[sort] = *tenth;
    }
  }

  Nanoseconds usual_of(const Meeting& meeting, Member member) const { return usual_.at(sort_of(meeting, member)); }

  // A kernel of several pairs waits for the last rank among them. Its waiting counts once: for the pair where it waited
  // longest; among equals, where it is known for whom; then for the rank that began last.
  void wait(Member member, Nanoseconds wait_ns, Late late, std::uint32_t meeting) {
    UnitSplit& split = split_of(member);
    Counted& counted = counted_[member.rank][member.unit];
    const auto weight = [](Nanoseconds ns, Late whom) { return std::tuple(ns, whom.rank != kNoRank, whom.began_ns); };
    if (split.is_split) {
      if (weight(split.wait_ns, counted.late) >= weight(wait_ns, late)) return;
      split_.meetings[counted.meeting].waited_ns -= split.wait_ns;
    }
    split = {wait_ns, late.rank, true};
    counted = {meeting, late};
    Nanoseconds& waited_ns = split_.meetings[meeting].waited_ns;
    waited_ns = add_saturated(waited_ns, wait_ns);
  }

  void together(std::uint32_t number) {
    const Meeting& meeting = match_.meetings[number];
    MeetingSplit& split = split_.meetings[number];
    const std::span members = match_.members_of(meeting);
    split.is_split = true;
    split.usual_ns = usual_of(meeting, members.front());
    Member last = members.front();
    Nanoseconds second_ns = kLatestTime;
    for (const Member member : members.subspan(1)) {
      if (length_of(member) < length_of(last)) {
        second_ns = length_of(last);
        last = member;
      } else {
        second_ns = std::min(second_ns, length_of(member));
      }
    }
    split.transfer_ns = length_of(last);
    split.margin_ns = second_ns - split.transfer_ns;
    // A rank without a trace may have come last: then even the shortest was longer than such operations are.
    const bool all_here = meeting.expected == 0 || meeting.count >= meeting.expected;
    const Nanoseconds beyond_ns = split.transfer_ns - split.usual_ns;
    if (!all_here && beyond_ns > std::max(kSureMarginNs, split.usual_ns)) {
      split.transfer_ns = split.usual_ns;
      split.margin_ns = beyond_ns;
    } else {
      split.last = last.rank;
    }
    for (const Member member : members)
      wait(member, length_of(member) - split.transfer_ns, {member.rank == split.last ? kNoRank : split.last}, number);
  }

  // Only the ranks on one side wait. The time that they spend beyond the usual is waiting for the root; or, where the
  // root waits too, for the rank that does not.
  void rooted(std::uint32_t number) {
    const Meeting& meeting = match_.meetings[number];
    MeetingSplit& split = split_.meetings[number];
    const std::span members = match_.members_of(meeting);
    std::optional<Member> root;
    Member least = members.front();
    Nanoseconds least_ns = kLatestTime;
    for (const Member member : members) {
      if (is_root(member)) root = member;
      const Nanoseconds beyond_ns = length_of(member) - usual_of(meeting, member);
      if (beyond_ns < least_ns) {
        least_ns = beyond_ns;
        least = member;
      }
    }
    split.is_split = true;
    split.usual_ns = usual_of(meeting, members.front());
    split.transfer_ns = split.usual_ns;
    const bool root_waits = root && length_of(*root) - usual_of(meeting, *root) > kSureMarginNs;
    std::uint32_t late = kNoRank;
    if (meeting.exchange == Exchange::kFromRoot)
      late = !root ? kNoRank : root_waits ? least.rank : root->rank;
    else
      late = by_clock(members).rank;  // ranks that only send leave early: their lengths tell nothing
    Nanoseconds second_ns = kLatestTime;
    for (const Member member : members) {
      const Nanoseconds wait_ns = std::max<Nanoseconds>(0, length_of(member) - usual_of(meeting, member));
      const bool waits = member.rank != late;
      if (waits && wait_ns > kSureMarginNs) second_ns = std::min(second_ns, wait_ns);
      wait(member, waits ? wait_ns : 0, {waits ? late : kNoRank}, number);
    }
    if (second_ns != kLatestTime) {
      split.last = late;
      split.margin_ns = second_ns;
    }
  }

  // The last to begin; kNoRank where the clocks do not tell.
  Late by_clock(std::span<const Member> members) const {
    Nanoseconds last_ns = kNeverNs;
    Nanoseconds before_ns = kNeverNs;
    Nanoseconds residual_ns = 0;
    std::uint32_t last = kNoRank;
    for (const Member member : members) {
      const RankClock& clock = clocks_.ranks[member.rank];
      if (!clock.known) return {};
      residual_ns = std::max(residual_ns, clock.residual_ns);
      const Nanoseconds begin_ns = clocks_.common(member.rank, unit_of(member).span.begin_ns);
      if (begin_ns > last_ns) {
        before_ns = last_ns;
        last_ns = begin_ns;
        last = member.rank;
      } else {
        before_ns = std::max(before_ns, begin_ns);
      }
    }
    const Nanoseconds apart_ns = last_ns - before_ns;
    return apart_ns > kSureMarginNs && apart_ns / 2 > residual_ns ? Late{last, last_ns} : Late{};
  }

  void pair(std::uint32_t number) {
    const Meeting& meeting = match_.meetings[number];
    MeetingSplit& split = split_.meetings[number];
    const std::span members = match_.members_of(meeting);
    split.is_split = true;
    split.usual_ns = split.transfer_ns = usual_of(meeting, members.front());
    const bool tells = is_together(meeting);
    if (tells) split.transfer_ns = shortest(meeting);
    const Late late = tells ? shorter(members) : by_clock(members);
    for (const Member member : members) {
      const Nanoseconds transfer_ns = tells ? split.transfer_ns : usual_of(meeting, member);
      const Nanoseconds wait_ns = std::max<Nanoseconds>(0, length_of(member) - transfer_ns);
      if (member.rank == late.rank || wait_ns < kSureMarginNs || (tells && late.rank == kNoRank)) {
        wait(member, 0, {}, number);
        continue;
      }
      wait(member, wait_ns, late, number);
      if (late.rank == kNoRank) continue;
      split.last = late.rank;
      split.margin_ns = std::max(split.margin_ns, wait_ns);
    }
    if (members.size() == 2 && split.last == kNoRank) find_sender(meeting);
  }

  // Not a sender that had left long before: then the receiver's kernel was slow by itself.
  Late shorter(std::span<const Member> members) const {
    const auto [least, most] = std::minmax_element(members.begin(), members.end(),
                                                   [&](Member a, Member b) { return length_of(a) < length_of(b); });
    if (length_of(*most) - length_of(*least) < kSureMarginNs) return {};
    const Late by_clock = this->by_clock(members);
    return by_clock.rank == kNoRank || by_clock.rank == least->rank ? Late{least->rank} : Late{};
  }

  // Nobody waited: the receiver, which is the one that began later, found it there.
  void find_sender(const Meeting& meeting) {
    const std::span members = match_.members_of(meeting);
    for (const Member member : members) {
      const RankClock& clock = clocks_.ranks[member.rank];
      if (!clock.known || !one_peer_[member.rank][member.unit]) return;
    }
    const auto began_ns = [&](Member one) { return clocks_.common(one.rank, unit_of(one).span.begin_ns); };
    const bool first_is_late = began_ns(members[0]) > began_ns(members[1]);
    const Member receiver = members[first_is_late ? 0 : 1];
    const Member sender = members[first_is_late ? 1 : 0];
    UnitSplit& split = split_of(receiver);
    split.sender = sender.rank;
    split.sent_before_ns = began_ns(receiver) - began_ns(sender);
  }

  std::span<const RankSummary> ranks_;
  const JobMatch& match_;
  const RankClocks& clocks_;
  std::map<Sort, Nanoseconds> usual_;
  std::vector<std::vector<Counted>> counted_;  // beside JobSplit::units
  std::vector<std::vector<bool>> one_peer_;    // likewise
  JobSplit split_;
};

}  // namespace

JobSplit split_waits(std::span<const RankSummary> ranks, const JobMatch& match, const RankClocks& clocks) {
  return Splitter(ranks, match, clocks).run();
}

}  // namespace synctrace
