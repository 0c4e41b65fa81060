// SPDX-License-Identifier: Apache-2.0
#include "ranks/blame.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "model/tolerances.h"

namespace synctrace {
namespace {

// How many rows get a saving: each takes three passes over all units.
constexpr std::size_t kMostBlamed = 12;

// Below this ratio of times, two GPUs do the same work: they differ by as much. Kernels beside a collective that waits
// take up to a tenth longer (measured: docs/measurements/ranks.md).
constexpr double kEvenRatio = 1.05;
constexpr double kBesideOthersRatio = 1.1;

// The time that a rank spent more than another before one of its units.
struct Excess {
  std::uint32_t name = kNoName;
  Member late;
  Nanoseconds more_ns = 0;
  Nanoseconds whole_ns = 0;
  Nanoseconds margin_ns = 0;
  Nanoseconds waited_ns = 0;
};

// The time that others waited because of a rank's time before one of its units; for pairs, before some of them.
struct Late {
  std::uint32_t rank = kNoRank;
  std::vector<std::uint32_t> units;
  Nanoseconds waited_ns = 0;
  Nanoseconds margin_ns = 0;
};

std::vector<Late> late_ranks(const JobMatch& match, const JobSplit& split, const JobReplay& replay) {
  std::vector<Late> late;
  for (std::uint32_t i = 0; i < match.meetings.size(); ++i) {
    if (!match.meetings[i].in_steps || split.meetings[i].waited_ns == 0) continue;
    std::map<std::uint32_t, Late> ranks;
    for (const JobReplay::Origin& one : replay.origins_of(i)) {
      Late& of_rank = ranks[one.rank];
      of_rank.rank = one.rank;
      of_rank.units.push_back(one.unit);
      of_rank.waited_ns = add_saturated(of_rank.waited_ns, one.waited_ns);
      of_rank.margin_ns = split.meetings[i].margin_ns;
    }
    for (auto& [rank, of_rank] : ranks) late.push_back(std::move(of_rank));
  }
  // One time may make a rank late at several operations.
  std::stable_sort(late.begin(), late.end(),
                   [](const Late& a, const Late& b) { return std::tie(a.rank, a.units) < std::tie(b.rank, b.units); });
  std::size_t kept = 0;
  for (Late& one : late) {
    if (kept > 0 && late[kept - 1].rank == one.rank && late[kept - 1].units == one.units) {
      late[kept - 1].waited_ns = add_saturated(late[kept - 1].waited_ns, one.waited_ns);
      late[kept - 1].margin_ns = std::max(late[kept - 1].margin_ns, one.margin_ns);
    } else if (&late[kept] != &one) {
      late[kept++] = std::move(one);
    } else {
      ++kept;
    }
  }
  late.resize(kept);
  return late;
}

class BlameFinder {
 public:
  BlameFinder(std::span<const RankSummary> ranks, const JobMatch& match, const JobReplay& replay,
              std::span<const LookedAt> looked_at, const PartSorts& sorts)
      : ranks_(ranks), match_(match), replay_(replay), sorts_(sorts) {
    for (const LookedAt& one : looked_at) looked_at_.emplace(one.rank, &one.parts);
  }

  // False where the rank's trace was not looked at.
  bool add(const Late& late) {
    if (!looked_at_.contains(late.rank)) return false;
    std::vector<Excess> found;
    for (const std::uint32_t unit : late.units) find_excesses({late.rank, unit}, late.margin_ns, found);
    if (found.empty()) found.push_back({kNoName, {late.rank, late.units.front()}, 0, 0, late.margin_ns, 0});
    Nanoseconds more_ns = 0;
    for (const Excess& one : found) more_ns = add_saturated(more_ns, one.more_ns);
    // Shares out the waiting by how much longer each took; the last one takes what rounding leaves.
    Nanoseconds left_ns = late.waited_ns;
    for (std::size_t i = 0; i < found.size(); ++i) {
      const double share = more_ns == 0 ? 1 : static_cast<double>(found[i].more_ns) / static_cast<double>(more_ns);
      const bool is_last = i + 1 == found.size();
      found[i].waited_ns =
          is_last ? left_ns : std::min(left_ns, static_cast<Nanoseconds>(share * static_cast<double>(late.waited_ns)));
      left_ns -= found[i].waited_ns;
      excesses_.push_back(found[i]);
    }
    return true;
  }

  std::vector<BlameRow> rows() {
    join_excesses();
    std::vector<BlameRow> rows;
    std::vector<std::span<const Excess>> of_rows;
    for (std::size_t first = 0; first < excesses_.size();) {
      std::size_t last = first;
      while (last < excesses_.size() && excesses_[last].name == excesses_[first].name) ++last;
      of_rows.push_back(std::span<const Excess>(excesses_).subspan(first, last - first));
      rows.push_back(row_of(of_rows.back()));
      rows.back().varies = varies(rows.back());
      first = last;
    }
    std::vector<std::size_t> order(rows.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return rows[a].waited_ns > rows[b].waited_ns; });
    for (std::size_t i = 0; i < std::min(order.size(), kMostBlamed); ++i)
      rows[order[i]].saving = saving_of(std::span(&of_rows[order[i]], 1));
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return rows[a].varies != rows[b].varies ? rows[b].varies : rows[a].saving.ns > rows[b].saving.ns;
    });
    std::vector<BlameRow> sorted;
    Cuts together(ranks_.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      BlameRow& row = rows[order[i]];
      of_rows_.push_back(of_rows[order[i]]);
      if (i < kMostBlamed && row.saving.ns > 0) {
        cut(
            of_rows[order[i]], [](const Excess& one) { return one.more_ns; }, together);
        row.with_those_before_ns = replay_.saving(together);
      }
      sorted.push_back(std::move(row));
    }
    return sorted;
  }

  // `rows`: what rows() returned.
  std::vector<BlameSet> sets(const std::vector<BlameRow>& rows, const SetQuestion& question) const {
    std::vector<std::uint64_t> switches;  // the rows that each makes, as bits
    for (std::size_t i = 0; i < std::min(rows.size(), kMostBlamed); ++i) {
      if (rows[i].varies || rows[i].saving.ns < std::max<Nanoseconds>(1, question.worth_ns))
        break;  // the next ones save less
      if (switches.size() < question.most_switches) switches.push_back(0);
      switches.back() |= std::uint64_t{1} << i;
    }
    std::vector<BlameSet> sets;
    for (std::size_t chosen = 1; chosen < std::size_t{1} << switches.size(); ++chosen) {
      BlameSet& set = sets.emplace_back();
      for (std::size_t i = 0; i < switches.size(); ++i) set.rows |= (chosen >> i & 1) != 0 ? switches[i] : 0;
      std::vector<std::span<const Excess>> of_rows;
      for (std::size_t i = 0; i < std::min(of_rows_.size(), kMostBlamed); ++i) {
        if ((set.rows >> i & 1) != 0) of_rows.push_back(of_rows_[i]);
      }
      set.saving = saving_of(of_rows);
    }
    return sets;
  }

 private:
  void find_excesses(Member late, Nanoseconds margin_ns, std::vector<Excess>& found) {
    const bool is_pair = ranks_[late.rank].units[late.unit].exchange == Exchange::kPairs;
    const std::span<const StretchPart> others = is_pair ? std::span<const StretchPart>() : other_parts(late);
    for (const StretchPart& part : parts_of(*looked_at_.at(late.rank), late.unit)) {
      const auto other = std::lower_bound(others.begin(), others.end(), part.name,
                                          [](const StretchPart& one, std::uint32_t name) { return one.name < name; });
      const bool both = other != others.end() && other->name == part.name;
      const Nanoseconds ns = is_pair ? more_in_a_step(late.rank, part) : part.ns - (both ? other->ns : 0);
      if (ns > 0) found.push_back({part.name, late, ns, part.ns, margin_ns, 0});
    }
  }

  // By name; what made a rank late at several operations is there once.
  void join_excesses() {
    const auto key = [](const Excess& one) { return std::tie(one.name, one.late.rank, one.late.unit); };
    std::stable_sort(excesses_.begin(), excesses_.end(),
                     [&](const Excess& a, const Excess& b) { return key(a) < key(b); });
    std::size_t kept = 0;
    for (const Excess& one : excesses_) {
      if (kept > 0 && key(excesses_[kept - 1]) == key(one)) {
        Excess& before = excesses_[kept - 1];
        before.waited_ns = add_saturated(before.waited_ns, one.waited_ns);
        before.margin_ns = std::max(before.margin_ns, one.margin_ns);
      } else {
        excesses_[kept++] = one;
      }
    }
    excesses_.resize(kept);
  }

  static std::span<const StretchPart> parts_of(const std::vector<StretchPart>& parts, std::uint32_t unit) {
    const auto [first, last] =
        std::equal_range(parts.begin(), parts.end(), StretchPart{unit, 0, 0},
                         [](const StretchPart& a, const StretchPart& b) { return a.unit < b.unit; });
    return {first, last};
  }

  // The parts of the rank that met there too, was looked at, and has the own time nearest to the middle one.
  std::span<const StretchPart> other_parts(Member late) const {
    const std::uint32_t meeting = match_.meeting_of[late.rank][late.unit];
    if (meeting == kNoMeeting) return {};
    const Nanoseconds middle_ns = replay_.middle_ns(meeting);
    Nanoseconds least_ns = kLatestTime;
    std::span<const StretchPart> nearest;
    for (const Member member : match_.members_of(match_.meetings[meeting])) {
      const auto known = looked_at_.find(member.rank);
      if (member.rank == late.rank || known == looked_at_.end()) continue;
      const Nanoseconds own_ns = replay_.own_ns(member);
      const Nanoseconds away_ns = own_ns > middle_ns ? own_ns - middle_ns : middle_ns - own_ns;
      if (away_ns >= least_ns) continue;
      least_ns = away_ns;
      nearest = parts_of(*known->second, member.unit);
    }
    return nearest;
  }

  // The two sides of a pair do different things before it, at different lines. So for each sort of part it counts how
  // much more of it the rank did in all steps than another one.
  Nanoseconds more_in_a_step(std::uint32_t rank, const StretchPart& part) {
    const std::uint32_t sort = sorts_[part.name].number;
    const double own_ns = in_a_step_ns(rank, sort);
    const double least_ns = least_in_a_step_ns(rank, sort);
    if (own_ns <= 0) return part.ns;
    return static_cast<Nanoseconds>(static_cast<double>(part.ns) * (1 - least_ns / own_ns));
  }

  double in_a_step_ns(std::uint32_t rank, std::uint32_t sort) {
    std::map<std::uint32_t, double>& sums = in_a_step_[rank];
    if (sums.empty()) {
      const std::vector<CollectiveUnit>& units = ranks_[rank].units;
      const double steps = static_cast<double>(std::max<std::size_t>(1, ranks_[rank].ordinary_steps));
      for (const StretchPart& each : *looked_at_.at(rank)) {
        if (ranks_[rank].ordinary_steps == 0 || units[each.unit].in_steps)
          sums[sorts_[each.name].number] += static_cast<double>(each.ns) / steps;
      }
    }
    const auto sum = sums.find(sort);
    return sum == sums.end() ? 0 : sum->second;
  }

  // The least of any rank that was looked at.
  double least_in_a_step_ns(std::uint32_t rank, std::uint32_t sort) {
    double least_ns = in_a_step_ns(rank, sort);
    for (const auto& [other, parts] : looked_at_) least_ns = std::min(least_ns, in_a_step_ns(other, sort));
    return least_ns;
  }

  bool varies(const BlameRow& row) {
    if (row.name == kNoName || !sorts_[row.name].is_kernel || row.ranks.empty() || looked_at_.size() < 2) return false;
    const std::uint32_t rank = row.ranks.front().rank;
    const std::uint32_t sort = sorts_[row.name].number;
    const double own_ns = in_a_step_ns(rank, sort);
    const double least_ns = least_in_a_step_ns(rank, sort);
    const bool others_are_late_too = row.ranks.size() > 1 && row.ranks[1].waited_ns >= row.ranks[0].waited_ns / 4;
    return own_ns < kEvenRatio * least_ns || (others_are_late_too && own_ns < kBesideOthersRatio * least_ns);
  }

  static BlameRow row_of(std::span<const Excess> excesses) {
    BlameRow row;
    row.name = excesses.front().name;
    std::map<std::uint32_t, RankShare> by_rank;
    for (const Excess& one : excesses) {
      row.waited_ns = add_saturated(row.waited_ns, one.waited_ns);
      row.excess_ns = add_saturated(row.excess_ns, one.more_ns);
      row.meetings += one.waited_ns >= kSureMarginNs ? 1 : 0;
      RankShare& share = by_rank[one.late.rank];
      share.rank = one.late.rank;
      share.waited_ns += one.waited_ns;
      share.excess_ns += one.more_ns;
    }
    for (const auto& [rank, share] : by_rank) row.ranks.push_back(share);
    std::stable_sort(row.ranks.begin(), row.ranks.end(),
                     [](const RankShare& a, const RankShare& b) { return a.waited_ns > b.waited_ns; });
    return row;
  }

  template <class Amount>
  void cut(std::span<const Excess> excesses, Amount&& amount, Cuts& cuts) const {
    for (const Excess& one : excesses) {
      std::vector<Nanoseconds>& of_rank = cuts[one.late.rank];
      if (of_rank.empty()) of_rank.resize(ranks_[one.late.rank].units.size(), 0);
      of_rank[one.late.unit] += amount(one);
    }
  }

  Interval saving_of(std::span<const std::span<const Excess>> of_rows) const {
    const auto saving = [&](auto&& amount) {
      Cuts cuts(ranks_.size());
      for (const std::span<const Excess> excesses : of_rows) cut(excesses, amount, cuts);
      return replay_.saving(cuts);
    };
    Interval interval;
    interval.ns = saving([](const Excess& one) { return one.more_ns; });
    interval.lo_ns = saving([](const Excess& one) { return std::min(one.more_ns, one.margin_ns); });
    interval.hi_ns = saving([](const Excess& one) { return one.whole_ns; });
    return interval;
  }

  std::span<const RankSummary> ranks_;
  const JobMatch& match_;
  const JobReplay& replay_;
  const PartSorts& sorts_;
  std::unordered_map<std::uint32_t, const std::vector<StretchPart>*> looked_at_;
  std::unordered_map<std::uint32_t, std::map<std::uint32_t, double>> in_a_step_;  // by rank and sort
  std::vector<Excess> excesses_;
  std::vector<std::span<const Excess>> of_rows_;  // in the order of what rows() returned
};

}  // namespace

std::vector<RankCharge> charge_ranks(const JobMatch& match, const JobSplit& split, const JobReplay& replay) {
  std::map<std::uint32_t, RankCharge> charges;
  for (std::uint32_t i = 0; i < match.meetings.size(); ++i) {
    const MeetingSplit& meeting = split.meetings[i];
    if (!match.meetings[i].in_steps || !meeting.is_split || meeting.waited_ns == 0) continue;
    const auto add = [&](std::uint32_t rank, Nanoseconds waited_ns) {
      RankCharge& charge = charges[rank];
      charge.rank = rank;
      charge.waited_ns = add_saturated(charge.waited_ns, waited_ns);
      return &charge;
    };
    RankCharge* charge = nullptr;  // the first origin's
    for (const JobReplay::Origin& one : replay.origins_of(i)) {
      RankCharge* const of_rank = add(one.rank, one.waited_ns);
      if (charge == nullptr) charge = of_rank;
    }
    if (charge == nullptr) charge = add(kNoRank, meeting.waited_ns);
    charge->margin_ns = add_saturated(charge->margin_ns, meeting.margin_ns);
    charge->meetings += meeting.margin_ns >= kSureMarginNs ? 1 : 0;
  }
  std::vector<RankCharge> sorted;
  for (const auto& [rank, charge] : charges) sorted.push_back(charge);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const RankCharge& a, const RankCharge& b) { return a.waited_ns > b.waited_ns; });
  return sorted;
}

std::uint32_t usual_rank(std::span<const RankSummary> ranks, const JobMatch& match, const JobReplay& replay,
                         std::span<const std::uint32_t> left_out) {
  std::vector<double> away(ranks.size(), 0);
  std::vector<std::uint64_t> met(ranks.size(), 0);
  for (std::uint32_t i = 0; i < match.meetings.size(); ++i) {
    if (!match.meetings[i].in_steps) continue;
    for (const Member member : match.members_of(match.meetings[i])) {
      const double ns = static_cast<double>(replay.own_ns(member) - replay.middle_ns(i));
      away[member.rank] += ns < 0 ? -ns : ns;
      ++met[member.rank];
    }
  }
  std::uint32_t best = kNoRank;
  for (std::uint32_t rank = 0; rank < ranks.size(); ++rank) {
    if (met[rank] == 0 || std::find(left_out.begin(), left_out.end(), rank) != left_out.end()) continue;
    const auto mean = [&](std::uint32_t one) { return away[one] / static_cast<double>(met[one]); };
    if (best == kNoRank || mean(rank) < mean(best)) best = rank;
  }
  return best;
}

Blame find_blame(std::span<const RankSummary> ranks, const JobMatch& match, const JobSplit& split,
                 const JobReplay& replay, std::span<const LookedAt> looked_at, const PartSorts& sorts,
                 const std::optional<SetQuestion>& asked) {
  Blame blame;
  BlameFinder finder(ranks, match, replay, looked_at, sorts);
  for (std::uint32_t i = 0; i < match.meetings.size(); ++i) {
    if (!match.meetings[i].in_steps) continue;
    blame.waited_ns = add_saturated(blame.waited_ns, split.meetings[i].waited_ns);
    if (replay.origins_of(i).empty())
      blame.not_known_ns = add_saturated(blame.not_known_ns, split.meetings[i].waited_ns);
  }
  for (const Late& late : late_ranks(match, split, replay)) {
    if (!finder.add(late)) blame.not_looked_at_ns = add_saturated(blame.not_looked_at_ns, late.waited_ns);
  }
  blame.rows = finder.rows();
  if (asked) blame.sets = finder.sets(blame.rows, *asked);
  return blame;
}

}  // namespace synctrace
