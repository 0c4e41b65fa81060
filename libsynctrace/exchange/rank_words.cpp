// SPDX-License-Identifier: Apache-2.0
#include "exchange/rank_words.h"

#include "base/quantity_text.h"

namespace synctrace {

std::string rank_name(const RankLane& rank) {
  return rank_title(rank.label) + (rank.host.empty() ? "" : " \u00b7 " + rank.host);
}

std::string clock_words(const RankLane& rank) {
  if (!rank.clock.known) return "clock not aligned";
  return rank.clock.residual_ns > 0 ? "clock within " + duration_text(rank.clock.residual_ns) : std::string();
}

std::string wait_name(const RankLane& rank, std::uint32_t waits_for) {
  const auto label = rank.labels.find(waits_for);
  return "waiting for " + (label == rank.labels.end() ? "a rank that is not known" : rank_title(label->second));
}

// Below 2^53, so that a double holds it.
std::uint64_t arrow_id(const RankExchange& exchange) noexcept { return (std::uint64_t{1} << 52) + exchange.meeting; }

}  // namespace synctrace
