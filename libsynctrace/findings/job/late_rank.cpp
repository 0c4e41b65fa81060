// SPDX-License-Identifier: Apache-2.0
#include "findings/job/late_rank.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "base/median.h"
#include "base/shares.h"

namespace synctrace {
namespace {

constexpr std::size_t kFewestOperations = 20;
constexpr Share kNearlyAlways = percent(80);
constexpr Share kFelt = percent(5);               // share of a step
constexpr Nanoseconds kFewestBehindNs = 100'000;  // calls of ranks that nothing keeps apart are closer

struct MatchedCalls {
  std::map<std::size_t, Nanoseconds> called_ns;  // by row of the report; the first of each
  std::uint32_t ranks = 0;
};

using CallsByTurn = std::map<std::pair<std::uint64_t, std::uint64_t>, MatchedCalls>;  // by communicator and turn

CallsByTurn calls_by_turn(std::span<const Report> reports) {
  CallsByTurn calls;
  for (std::size_t row = 0; row < reports.size(); ++row) {
    for (const CollectiveCall& call : reports[row].collective_calls) {
      MatchedCalls& one = calls[{call.communicator, call.turn}];
      one.called_ns.try_emplace(row, call.time_ns);
      one.ranks = call.ranks;
    }
  }
  return calls;
}

bool share_a_clock(std::span<const Report> reports) {
  return !reports.front().boot_id.empty() && std::all_of(reports.begin(), reports.end(), [&](const Report& report) {
    return report.boot_id == reports.front().boot_id;
  });
}

}  // namespace

std::optional<LateRank> late_rank(std::span<const Report> reports) {
  if (reports.size() < 2 || !share_a_clock(reports)) return std::nullopt;
  LateRank late;
  std::map<std::size_t, std::vector<Nanoseconds>> behind_ns;  // by row
  for (const auto& [key, matched] : calls_by_turn(reports)) {
    if (matched.ranks < 2 || matched.called_ns.size() != matched.ranks) continue;
    const auto earlier = [](const auto& a, const auto& b) { return a.second < b.second; };
    const auto [first, last] = std::minmax_element(matched.called_ns.begin(), matched.called_ns.end(), earlier);
    behind_ns[last->first].push_back(last->second - first->second);
    ++late.operations;
  }
  if (late.operations < kFewestOperations) return std::nullopt;
  const auto most = std::max_element(behind_ns.begin(), behind_ns.end(),
                                     [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  late.report = most->first;
  late.last_of = most->second.size();
  late.behind_ns = median_of(most->second);
  const double step_ns = static_cast<double>(reports[late.report].steps.ordinary_mean_ns);
  const bool is_felt = late.behind_ns >= kFewestBehindNs && static_cast<double>(late.behind_ns) >= kFelt.of(step_ns);
  const bool is_usual = static_cast<double>(late.last_of) >= kNearlyAlways.of(static_cast<double>(late.operations));
  return is_felt && is_usual ? std::optional(late) : std::nullopt;
}

}  // namespace synctrace
