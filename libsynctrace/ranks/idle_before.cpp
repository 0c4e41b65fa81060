// SPDX-License-Identifier: Apache-2.0
#include "ranks/idle_before.h"

#include <algorithm>

#include "attribution/attribute.h"
#include "model/trace.h"

namespace synctrace {
namespace {

constexpr std::size_t kMostParts = 256;  // in one gap

}  // namespace

HeldBy held_by(CauseKind kind) noexcept {
  const CauseTraits& traits = traits_of(kind);
  if (traits.family == FixFamily::kWait) return HeldBy::kWait;
  return traits.has(CauseTraits::kHoldsUp) ? HeldBy::kHost : HeldBy::kNothing;
}

std::pair<std::size_t, std::size_t> parts_before(std::span<const Part> parts, Nanoseconds t) {
  const auto behind = std::lower_bound(parts.begin(), parts.end(), t,
                                       [](const Part& part, Nanoseconds at) { return part.span.begin_ns < at; });
  const auto last = static_cast<std::size_t>(behind - parts.begin());
  std::size_t first = last;
  Nanoseconds begin_ns = t;
  while (first > 0 && last - first < kMostParts && parts[first - 1].span.end_ns == begin_ns) {
    --first;
    begin_ns = parts[first].span.begin_ns;
  }
  return {first, last};
}

CauseKind kind_before(const Trace& trace, const Part& part, Nanoseconds gap_begin_ns) {
  const bool was_before =
      part.drained && part.owner.table == OwnerTable::kCall && trace.calls[part.owner.row].span.end_ns < gap_begin_ns;
  return was_before ? part.activity_kind : part.kind;
}

void find_idle_before(const Trace& trace, const Attribution& attribution, RankSummary& rank) {
  for (CollectiveUnit& unit : rank.units) {
    const auto parts = attribution.parts.find(rank.devices[unit.device].id);
    if (parts == attribution.parts.end()) continue;
    const auto [first, last] = parts_before(parts->second, unit.span.begin_ns);
    for (std::size_t i = first; i < last; ++i) {
      const Part& part = parts->second[i];
      if (part.copying) continue;
      const HeldBy by = held_by(kind_before(trace, part, parts->second[first].span.begin_ns));
      if (by == HeldBy::kWait) unit.drained_ns += part.span.length_ns();
      if (by == HeldBy::kHost) unit.held_ns += part.span.length_ns();
    }
  }
}

}  // namespace synctrace
