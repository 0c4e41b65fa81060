// SPDX-License-Identifier: Apache-2.0
#include "ranks/rank_summary.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <utility>

#include "attribution/attribute.h"
#include "attribution/device_gaps.h"
#include "base/shown_text.h"
#include "model/trace.h"
#include "model/wall_clock.h"
#include "ranks/collective_units.h"
#include "ranks/idle_before.h"

namespace synctrace {
namespace {

void add_causes(const std::vector<Cause>& causes, RankDevice& device) {
  for (const Cause& cause : causes) {
    if (cause.key.copying) {
      device.copying_in_steps_ns += cause.steady_ns;
      continue;
    }
    const auto kind = static_cast<std::size_t>(cause.key.kind);
    device.idle_ns[kind] += cause.idle_ns;
    device.idle_in_steps_ns[kind] += cause.steady_ns;
  }
}

void add_devices(const Trace& trace, const Attribution& attribution, RankSummary& rank) {
  for (const auto& [id, operations] : operations_by_device(trace)) {
    const auto state = attribution.devices.find(id);
    if (state == attribution.devices.end()) continue;
    RankDevice& device = rank.devices.emplace_back();
    device.id = id;
    device.state = state->second;
    const auto named = trace.devices.find(id);
    if (named != trace.devices.end()) device.name = printable(named->second.name);
    if (const auto causes = attribution.causes.find(id); causes != attribution.causes.end())
      add_causes(causes->second, device);
    if (const auto use = attribution.uses.find(id); use != attribution.uses.end()) device.use = use->second;
    const auto collectives = attribution.collectives.find(id);
    if (collectives == attribution.collectives.end()) continue;
    device.collectives = collectives->second;
    std::size_t cursor = 0;
    for_each_collective_stretch(trace, operations, [&](TimeSpan span, std::uint32_t row) {
      const Nanoseconds issued_ns = attribution.evidence->correlation.issued_ns(row);
      const bool in_steps = attribution.steps.kind_at(issued_ns, cursor) == StepKind::kSteady;
      std::vector<CollectiveStretch>& stretches = device.stretches;
      const bool goes_on =
          !stretches.empty() && stretches.back().span.end_ns == span.begin_ns && stretches.back().in_steps == in_steps;
      if (goes_on)
        stretches.back().span.end_ns = span.end_ns;
      else
        stretches.push_back({span, in_steps});
    });
  }
}

std::uint32_t gpus_as_one(const RankSummary& rank) {
  std::set<std::pair<std::uint32_t, std::uint32_t>> places;
  for (const CollectiveUnit& unit : rank.units) places.emplace(unit.communicator, unit.device);
  std::map<std::uint32_t, std::uint32_t> counts;
  std::uint32_t most = 1;
  for (const auto& [communicator, device] : places) most = std::max(most, ++counts[communicator]);
  return most;
}

}  // namespace

std::int64_t rank_number(const Trace& trace) {
  const std::string_view text = fact(trace, "rank");
  std::int64_t rank = -1;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), rank);
  return failed == std::errc() && end == text.data() + text.size() && rank >= 0 ? rank : -1;
}

RankSummary summarize_rank(const Trace& trace, const Attribution& attribution) {
  RankSummary rank;
  rank.path = printable(trace.path);
  rank.program = printable(fact(trace, "command_line"));
  rank.host = printable(fact(trace, "host"));
  rank.job = printable(fact(trace, "job_id"));
  rank.rank = rank_number(trace);
  rank.nccl = printable(fact(trace, "nccl_version"));
  rank.process_id = trace.process_id;
  rank.cut_short = trace.stats.count(kLossUncleanEnd) + trace.stats.count(kLossTruncated) > 0;
  rank.simulated = fact(trace, "simulated") == "1";
  for (const TimeSpan span : trace.lossy) rank.lossy_ns += span.length_ns();
  rank.wall_lead_ns = clock_lead_ns(trace);
  rank.steps = figures_of(attribution.steps);
  for (const Step& step : attribution.steps.steps) {
    if (step.kind != StepKind::kSteady) continue;
    rank.in_steps_ns = add_saturated(rank.in_steps_ns, step.length_ns);
    ++rank.ordinary_steps;
  }
  rank.micro_steps = attribution.steps.micro_steps;
  rank.breaches = attribution.breaches;
  add_devices(trace, attribution, rank);
  find_collective_units(trace, attribution, rank);
  find_idle_before(trace, attribution, rank);
  rank.gpus_as_one = gpus_as_one(rank);
  rank.host_pace = host_pace_of(trace);
  rank.host_busy_ns = host_busy_ns(trace, attribution);
  return rank;
}

}  // namespace synctrace
