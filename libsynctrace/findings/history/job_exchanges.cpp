// SPDX-License-Identifier: Apache-2.0
#include "findings/history/job_exchanges.h"

#include <algorithm>

namespace synctrace {
namespace {

ExchangeRow exchange_of(const RankSummary& rank, const CollectiveUnit& unit) {
  ExchangeRow one;
  one.span = unit.span;
  const RankCommunicator& communicator = rank.communicators[unit.communicator];
  if (!communicator.is_unnamed) one.communicator = communicator.hash;
  one.operation = rank.operations[unit.operation];
  one.bytes = unit.bytes;
  return one;
}

}  // namespace

std::vector<ExchangeRow> exchanges_of(const Job& job, std::uint32_t rank) {
  const RankSummary& summary = job.ranks[rank];
  std::vector<ExchangeRow> found;
  found.reserve(summary.units.size());
  for (std::size_t i = 0; i < summary.units.size(); ++i) {
    const UnitSplit& split = job.split.units[rank][i];
    ExchangeRow& one = found.emplace_back(exchange_of(summary, summary.units[i]));
    one.is_split = split.is_split;
    if (!split.is_split) continue;
    one.wait_ns = std::clamp<Nanoseconds>(split.wait_ns, 0, one.span.length_ns());
    if (one.wait_ns > 0 && split.waits_for < job.ranks.size()) one.late_rank = job.ranks[split.waits_for].rank;
  }
  return found;
}

std::vector<ExchangeRow> exchanges_of(const RankSummary& alone) {
  std::vector<ExchangeRow> found;
  for (const CollectiveUnit& unit : alone.units) found.push_back(exchange_of(alone, unit));
  return found;
}

}  // namespace synctrace
