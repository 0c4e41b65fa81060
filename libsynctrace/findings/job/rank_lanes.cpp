// SPDX-License-Identifier: Apache-2.0
#include "findings/job/rank_lanes.h"

#include <algorithm>
#include <utility>

#include "base/format_text.h"
#include "model/tolerances.h"

namespace synctrace {
namespace {

class LaneMaker {
 public:
  LaneMaker(const Job& job, std::uint32_t rank) : job_(job), rank_(rank) {}

  RankLane run() {
    const RankSummary& summary = job_.ranks[rank_];
    lane_.label = label_of(summary);
    lane_.host = summary.host;
    lane_.lead_ns = summary.wall_lead_ns;
    if (job_.clocks.ranks[rank_].known) {
      lane_.clock = job_.clocks.ranks[rank_];
      lane_.lead_ns = job_.ranks.front().wall_lead_ns;
    }
    lane_.operations = summary.operations;
    for (std::uint32_t unit = 0; unit < summary.units.size(); ++unit) add(unit);
    find_typical();
    std::stable_sort(lane_.exchanges.begin(), lane_.exchanges.end(),
                     [](const RankExchange& a, const RankExchange& b) { return a.span.begin_ns < b.span.begin_ns; });
    return std::move(lane_);
  }

 private:
  const CollectiveUnit& unit_of(Member member) const { return job_.ranks[member.rank].units[member.unit]; }

  // Whoever waits does so first; then all move data.
  void add(std::uint32_t number) {
    const RankSummary& summary = job_.ranks[rank_];
    const CollectiveUnit& unit = summary.units[number];
    const UnitSplit& split = job_.split.units[rank_][number];
    if (unit.device >= summary.devices.size()) return;
    RankExchange& exchange = lane_.exchanges.emplace_back();
    exchange.span = unit.span;
    exchange.wait_ns = split.is_split ? std::clamp<Nanoseconds>(split.wait_ns, 0, unit.span.length_ns()) : 0;
    exchange.is_split = split.is_split;
    exchange.communicator = summary.communicators[unit.communicator].hash;
    exchange.turn = unit.turn;
    exchange.bytes = unit.bytes;
    exchange.device = summary.devices[unit.device].id;
    exchange.operation = unit.operation;
    exchange.waits_for = split.waits_for;
    if (exchange.wait_ns > 0 && split.waits_for < job_.ranks.size())
      lane_.labels.try_emplace(split.waits_for, label_of(job_.ranks[split.waits_for]));
    exchange.meeting = job_.match.meeting_of[rank_][number];
    if (exchange.meeting != kNoMeeting) exchange.arrow = arrow_of({rank_, number}, exchange.meeting);
  }

  // Takes the operation with the middle waiting among those in steps at which this rank came last.
  void find_typical() {
    const RankSummary& summary = job_.ranks[rank_];
    std::vector<std::pair<Nanoseconds, std::uint32_t>> late;
    for (std::uint32_t unit = 0; unit < summary.units.size(); ++unit) {
      const std::uint32_t meeting = job_.match.meeting_of[rank_][unit];
      if (meeting == kNoMeeting || !job_.match.meetings[meeting].in_steps) continue;
      const MeetingSplit& split = job_.split.meetings[meeting];
      if (split.last == rank_ && split.margin_ns > kSureMarginNs) late.emplace_back(split.waited_ns, unit);
    }
    if (late.empty()) return;
    const auto middle = late.begin() + static_cast<std::ptrdiff_t>(late.size() / 2);
    std::nth_element(late.begin(), middle, late.end());
    const CollectiveUnit& unit = summary.units[middle->second];
    lane_.typical = {std::min(unit.own.begin_ns, unit.span.begin_ns), unit.span.end_ns};
  }

  // A kernel of several pairs has the arrow of its first alone.
  bool is_joined(Member member, std::uint32_t meeting) const {
    return job_.clocks.ranks[member.rank].known && job_.match.meeting_of[member.rank][member.unit] == meeting &&
           unit_of(member).device < job_.ranks[member.rank].devices.size();
  }

  RankExchange::Arrow arrow_of(Member own, std::uint32_t meeting) const {
    if (!is_joined(own, meeting)) return RankExchange::Arrow::kNone;
    const auto came = [&](Member member) {
      return std::pair(job_.clocks.common(member.rank, unit_of(member).span.begin_ns), member.rank);
    };
    bool any_before = false;
    bool any_after = false;
    for (const Member member : job_.match.members_of(job_.match.meetings[meeting])) {
      if (member.rank == own.rank || !is_joined(member, meeting)) continue;
      (came(member) < came(own) ? any_before : any_after) = true;
    }
    if (any_before) return any_after ? RankExchange::Arrow::kBetween : RankExchange::Arrow::kLast;
    return any_after ? RankExchange::Arrow::kFirst : RankExchange::Arrow::kNone;
  }

  const Job& job_;
  const std::uint32_t rank_;
  RankLane lane_;
};

}  // namespace

RankLane lane_of(const Job& job, std::uint32_t rank) { return LaneMaker(job, rank).run(); }

std::string label_of(const RankSummary& rank) {
  return rank.rank >= 0 ? std::to_string(rank.rank) : format_text("process {}", rank.process_id);
}

std::string title_of(const RankSummary& rank) { return rank_title(label_of(rank)); }

std::vector<std::uint32_t> ranks_to_draw(const Job& job, std::span<const RankCharge> charges, std::uint32_t usual,
                                         std::size_t most) {
  most = std::min(most, job.ranks.size());
  std::vector<std::uint32_t> chosen;
  const auto choose = [&](std::uint32_t rank) {
    const bool is_new = std::find(chosen.begin(), chosen.end(), rank) == chosen.end();
    if (rank < job.ranks.size() && is_new && chosen.size() < most) chosen.push_back(rank);
  };
  for (const RankCharge& one : charges) {
    if (chosen.size() + 1 >= most && !chosen.empty()) break;  // the last place is the usual one's
    choose(one.rank);
  }
  choose(usual);
  for (std::uint32_t rank = 0; chosen.size() < most; ++rank) choose(rank);
  return chosen;
}

}  // namespace synctrace
