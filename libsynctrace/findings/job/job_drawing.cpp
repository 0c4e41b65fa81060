// SPDX-License-Identifier: Apache-2.0
#include "findings/job/job_drawing.h"

#include <algorithm>
#include <map>
#include <utility>

#include "findings/job/rank_lanes.h"

namespace synctrace {
namespace {

using page::ExchangePart;
using page::RankDrawing;
using page::SliceKind;

class Drawer {
 public:
  Drawer(const Job& job, std::uint32_t number) : job_(job), rank_(job.ranks[number]), number_(number) {}

  RankDrawing run() {
    drawing_.label = label_of(rank_);
    drawing_.clock = job_.clocks.ranks[number_];
    for (const RankExchange& one : lane_of(job_, number_).exchanges) add(one);
    std::stable_sort(drawing_.parts.begin(), drawing_.parts.end(),
                     [](const ExchangePart& a, const ExchangePart& b) { return a.span.begin_ns < b.span.begin_ns; });
    find_typical();
    return std::move(drawing_);
  }

 private:
  void add(const RankExchange& one) {
    const Nanoseconds came_ns = one.span.begin_ns + one.wait_ns;
    if (one.wait_ns > 0) put({one.span.begin_ns, came_ns}, SliceKind::kRankWait, one, one.waits_for);
    if (one.span.end_ns > came_ns)
      put({came_ns, one.span.end_ns}, one.is_split ? SliceKind::kTransfer : SliceKind::kExchange, one, kNoRank);
  }

  void put(TimeSpan span, SliceKind kind, const RankExchange& one, std::uint32_t waits_for) {
    const auto [name, is_new] =
        names_.try_emplace({one.operation, waits_for}, static_cast<std::uint32_t>(drawing_.names.size()));
    if (is_new) {
      const std::string rank = waits_for < job_.ranks.size() ? label_of(job_.ranks[waits_for]) : std::string();
      drawing_.names.push_back({rank_.operations[one.operation], rank});
    }
    drawing_.parts.push_back({span, one.device, kind, name->second});
  }

  // Of the operations in steps at which it came last, the one with the middle waiting.
  void find_typical() {
    std::vector<std::pair<Nanoseconds, std::uint32_t>> late;
    for (std::uint32_t unit = 0; unit < rank_.units.size(); ++unit) {
      const std::uint32_t meeting = job_.match.meeting_of[number_][unit];
      if (meeting == kNoMeeting || !job_.match.meetings[meeting].in_steps) continue;
      const MeetingSplit& split = job_.split.meetings[meeting];
      if (split.last == number_ && split.margin_ns > kSureMarginNs) late.emplace_back(split.waited_ns, unit);
    }
    if (late.empty()) return;
    const auto middle = late.begin() + static_cast<std::ptrdiff_t>(late.size() / 2);
    std::nth_element(late.begin(), middle, late.end());
    const CollectiveUnit& unit = rank_.units[middle->second];
    drawing_.typical = {std::min(unit.own.begin_ns, unit.span.begin_ns), unit.span.end_ns};
  }

  const Job& job_;
  const RankSummary& rank_;
  const std::uint32_t number_;
  RankDrawing drawing_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> names_;
};

}  // namespace

RankDrawing draw_rank(const Job& job, std::uint32_t rank) { return Drawer(job, rank).run(); }

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
