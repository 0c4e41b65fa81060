// SPDX-License-Identifier: Apache-2.0
#include "findings/calls/trust.h"

#include <algorithm>
#include <array>

#include "base/shown_text.h"

namespace synctrace {
namespace {

// Losses without a lost call or piece of GPU work: names, samples, stacks. All others count, those of newer recorders
// too.
bool is_harmless(std::string_view name) {
  constexpr std::array<std::string_view, 6> kWithoutLostCalls = {kLossUnnamedCalls,   kLossClockUnusable,
                                                                 kLossSymbolsChanged, kLossSymbolsUnusable,
                                                                 kLossSymbolsFailed,  "sample-eintr"};
  return describe_loss(name).severity == Severity::kNote ||
         std::find(kWithoutLostCalls.begin(), kWithoutLostCalls.end(), name) != kWithoutLostCalls.end();
}

// JAX waits in no CUDA call: without the GPU's timeline nothing tells its waits from other sleeps.
bool uses_jax(const Trace& trace) {
  const auto is_jax = [](std::string_view path) {
    return path.find("/jaxlib/") != std::string_view::npos || path.find("/jax/_src/") != std::string_view::npos;
  };
  return std::any_of(trace.modules.begin(), trace.modules.end(),
                     [&](const auto& entry) { return is_jax(entry.second.path); }) ||
         std::any_of(trace.codes.begin(), trace.codes.end(),
                     [&](const auto& entry) { return is_jax(entry.second.file); });
}

}  // namespace

void add_losses(const Trace& trace, bool compares, WaitSites& out) {
  for (const LoadStats::Counter& counter : trace.stats.counters()) {
    const bool is_end = counter.name == kLossUncleanEnd || counter.name == kLossTruncated;
    if (is_harmless(counter.name)) continue;
    out.lost.push_back(
        {printable(counter.name), counter.count, std::string(describe_loss(counter.name).sentence), is_end});
  }
  const std::string_view launch_blocking = fact(trace, "env.CUDA_LAUNCH_BLOCKING");
  if (const std::string_view holder = fact(trace, "subscriber_holder"); !holder.empty()) {
    out.blind = "another tool held CUPTI (" + printable(holder) + "), so nothing was recorded";
  } else if (const std::string_view reason = fact(trace, "disabled_reason"); !reason.empty()) {
    out.blind = "recording was given up: " + printable(reason);
  } else if (!launch_blocking.empty() && launch_blocking != "0") {
    out.blind = "CUDA_LAUNCH_BLOCKING was set: every launch waits, so no other wait shows";
  } else if (fact(trace, "only_windows") == "1" && !compares) {
    out.blind = fact(trace, "live_window") == "1"
                    ? "waits outside of this window were not recorded; record a whole run with synctrace run"
                    : "waits outside of its windows were not recorded; record without --only-windows";
  } else if (!trace.has_timeline() && uses_jax(trace)) {
    out.blind = "JAX waits in no CUDA call, which only the GPU's timeline shows; record with --level=timeline";
  }
}

}  // namespace synctrace
