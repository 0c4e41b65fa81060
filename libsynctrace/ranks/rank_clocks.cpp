// SPDX-License-Identifier: Apache-2.0
#include "ranks/rank_clocks.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "base/median.h"
#include "model/tolerances.h"

namespace synctrace {
namespace {

constexpr std::size_t kFewest = 3;        // ends of operations that an offset is measured by
constexpr std::size_t kMostEnds = 4'096;  // that are compared for two ranks
constexpr double kMostDrift = 1e-3;       // ten times that of a bad clock: more is chance, or damage

struct End {
  Nanoseconds at_ns = 0;  // on the rank's own clock
  Nanoseconds ahead_ns = 0;
};

Nanoseconds median_ahead(std::span<const End> ends) {
  std::vector<Nanoseconds> values;
  for (const End& end : ends) values.push_back(end.ahead_ns);
  return median_of(std::move(values));
}

Nanoseconds median_at(std::span<const End> ends) {
  std::vector<Nanoseconds> values;
  for (const End& end : ends) values.push_back(end.at_ns);
  return median_of(std::move(values));
}

RankClock clock_by(std::vector<End> ends) {
  std::sort(ends.begin(), ends.end(), [](const End& a, const End& b) { return a.at_ns < b.at_ns; });
  RankClock clock;
  clock.known = true;
  const std::size_t half = ends.size() / 2;
  const std::span all(ends);
  clock.from_ns = median_at(all);
  clock.offset_ns = static_cast<double>(median_ahead(all));
  constexpr std::size_t kEnoughForDrift = 16;
  if (ends.size() >= kEnoughForDrift) {
    const std::span early = all.first(half);
    const std::span late = all.subspan(half);
    const double apart_ns = static_cast<double>(median_at(late) - median_at(early));
    const double drift = apart_ns > 0 ? static_cast<double>(median_ahead(late) - median_ahead(early)) / apart_ns : 0;
    if (std::abs(drift) < kMostDrift) clock.drift = drift;
  }
  std::vector<Nanoseconds> residuals;
  for (const End& end : ends) {
    const double expected = clock.offset_ns + clock.drift * static_cast<double>(end.at_ns - clock.from_ns);
    residuals.push_back(static_cast<Nanoseconds>(std::abs(static_cast<double>(end.ahead_ns) - expected)));
  }
  clock.residual_ns = median_of(std::move(residuals));
  return clock;
}

// Ranks of one host share its wall clock: it decides where nothing that they do together tells more.
void add_by_wall_clock(std::span<const RankSummary> ranks, RankClocks& clocks) {
  for (std::uint32_t rank = 0; rank < ranks.size(); ++rank) {
    RankClock& clock = clocks.ranks[rank];
    if (clock.known || ranks[rank].host.empty()) continue;
    for (std::uint32_t other = 0; other < ranks.size(); ++other) {
      const bool is_measured = clocks.ranks[other].known && clocks.ranks[other].residual_ns < kWallClockNs;
      if (!is_measured || ranks[other].host != ranks[rank].host) continue;
      clock = clocks.ranks[other];
      clock.offset_ns += static_cast<double>(ranks[other].wall_lead_ns - ranks[rank].wall_lead_ns);
      clock.residual_ns = kWallClockNs;
      clock.known = true;
      break;
    }
  }
}

}  // namespace

// Starts at the first rank and goes along shared operations: a rank's clock follows from one that is known already.
RankClocks measure_clocks(std::span<const RankSummary> ranks, const JobMatch& match) {
  RankClocks clocks;
  clocks.ranks.resize(ranks.size());
  if (ranks.empty()) return clocks;
  std::vector<std::vector<std::uint32_t>> meetings(match.communicators.size());
  for (std::uint32_t i = 0; i < match.meetings.size(); ++i) {
    if (match.meetings[i].exchange == Exchange::kTogether) meetings[match.meetings[i].communicator].push_back(i);
  }
  std::vector<bool> done(match.communicators.size(), false);
  clocks.ranks[0].known = true;
  std::deque<std::uint32_t> known = {0};
  std::vector<std::vector<std::uint32_t>> communicators(ranks.size());
  for (std::uint32_t row = 0; row < match.communicators.size(); ++row) {
    for (const std::uint32_t rank : match.communicators[row].traces) communicators[rank].push_back(row);
  }
  while (!known.empty()) {
    const std::uint32_t reference = known.front();
    known.pop_front();
    for (const std::uint32_t row : communicators[reference]) {
      if (done[row]) continue;
      done[row] = true;
      const std::size_t stride = meetings[row].size() / kMostEnds + 1;
      std::map<std::uint32_t, std::vector<End>> ends;
      for (std::size_t i = 0; i < meetings[row].size(); i += stride) {
        const std::span members = match.members_of(match.meetings[meetings[row][i]]);
        const auto at =
            std::find_if(members.begin(), members.end(), [&](const Member& one) { return one.rank == reference; });
        if (at == members.end()) continue;
        const Nanoseconds end_ns = clocks.common(reference, ranks[reference].units[at->unit].span.end_ns);
        for (const Member& member : members) {
          if (clocks.ranks[member.rank].known) continue;
          const Nanoseconds own_ns = ranks[member.rank].units[member.unit].span.end_ns;
          ends[member.rank].push_back({own_ns, own_ns - end_ns});
        }
      }
      for (auto& [rank, of_rank] : ends) {
        if (of_rank.size() < kFewest) continue;
        clocks.ranks[rank] = clock_by(std::move(of_rank));
        known.push_back(rank);
      }
    }
  }
  add_by_wall_clock(ranks, clocks);
  return clocks;
}

}  // namespace synctrace
