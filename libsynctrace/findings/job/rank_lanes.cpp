// SPDX-License-Identifier: Apache-2.0
#include "findings/job/rank_lanes.h"

#include <algorithm>
#include <utility>

#include "base/format_text.h"

namespace synctrace {
namespace {

class LaneMaker {
 public:
  LaneMaker(const Job& job, std::uint32_t rank) : job_(job), rank_(rank) {}

  RankLane run() {
    const RankSummary& summary = job_.ranks[rank_];
    lane_.title = title_of(summary);
    lane_.host = summary.host;
    lane_.lead_ns = summary.wall_lead_ns;
    if (job_.clocks.ranks[rank_].known) {
      lane_.clock = job_.clocks.ranks[rank_];
      lane_.lead_ns = job_.ranks.front().wall_lead_ns;
    }
    lane_.operations = summary.operations;
    for (std::uint32_t unit = 0; unit < summary.units.size(); ++unit) add(unit);
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
      lane_.titles.try_emplace(split.waits_for, title_of(job_.ranks[split.waits_for]));
    exchange.meeting = job_.match.meeting_of[rank_][number];
    if (exchange.meeting != kNoMeeting) exchange.arrow = arrow_of({rank_, number}, exchange.meeting);
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

std::string title_of(const RankSummary& rank) { return (rank.rank >= 0 ? "rank " : "") + label_of(rank); }

}  // namespace synctrace
