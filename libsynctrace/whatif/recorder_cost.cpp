// SPDX-License-Identifier: Apache-2.0
#include "whatif/recorder_cost.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace synctrace {
namespace {

// Host time before a call: other code for so long leaves nothing of CUPTI's and ours in the first caches,
constexpr Nanoseconds kColdNs = 4'000;
constexpr Nanoseconds kColderNs = 24'000;  // and little in the second ones and in what predicts branches.

constexpr Nanoseconds kHotRecordNs = 500;
constexpr Nanoseconds kOldStackNs = 2'600;  // for recorders that did not yet say it
constexpr Nanoseconds kMostStackNs = 8'000;

// Launches behind other code take longer than this. The excess says how slow the host is with cold caches, and the cost
// of a record is in hundredths of it. Measured on parts of seven programs that ran with and without us, with median
// launches of 5.3 to 7.5 us.
constexpr Nanoseconds kQuickLaunchNs = 2'200;
constexpr Nanoseconds kUsualSlownessNs = 4'000;  // for a trace with too few launches to tell
constexpr Nanoseconds kLeastSlownessNs = 1'500;
constexpr Nanoseconds kMostSlownessNs = 8'500;

constexpr std::size_t kFewestColdLaunches = 50;
constexpr std::size_t kEnoughLaunches = 1U << 16;

// The middle one of the launches of kernels behind other code; 0: too few.
Nanoseconds usual_cold_launch_ns(const Trace& trace) {
  std::unordered_map<ThreadId, Nanoseconds> last_end_ns;
  std::vector<Nanoseconds> cold;
  for (const Launch& launch : trace.launches) {
    const auto [last, is_first] = last_end_ns.try_emplace(launch.thread, launch.span.end_ns);
    const bool is_cold = !is_first && launch.span.begin_ns - last->second >= kColdNs;
    last->second = launch.span.end_ns;
    const auto api = trace.apis.find(launch.api);
    if (!is_cold || api == trace.apis.end() || api->second.category != ApiCategory::kLaunch) continue;
    cold.push_back(launch.span.length_ns());
    if (cold.size() == kEnoughLaunches) break;
  }
  if (cold.size() < kFewestColdLaunches) return 0;
  const auto middle = cold.begin() + static_cast<std::ptrdiff_t>(cold.size() / 2);
  std::nth_element(cold.begin(), middle, cold.end());
  return *middle;
}

Nanoseconds slowness_ns(const Trace& trace) {
  const Nanoseconds launch_ns = usual_cold_launch_ns(trace);
  if (launch_ns == 0) return kUsualSlownessNs;
  return std::clamp(launch_ns - kQuickLaunchNs, kLeastSlownessNs, kMostSlownessNs);
}

Nanoseconds usual_stack_ns(const Trace& trace) {
  const std::string_view text = fact(trace, "stacks.usual_ns");
  Nanoseconds said_ns = kOldStackNs;
  std::from_chars(text.data(), text.data() + text.size(), said_ns);
  return std::clamp<Nanoseconds>(said_ns, 0, kMostStackNs);
}

std::int16_t limited(Nanoseconds cost_ns, Nanoseconds most_ns) noexcept {
  return static_cast<std::int16_t>(std::clamp<Nanoseconds>(most_ns, 0, cost_ns));
}

}  // namespace

RecorderCost::RecorderCost(const Trace& trace)
    : counts_(trace.facts.contains("cupti_version") && !trace.facts.contains("simulated")),
      stack_ns_(usual_stack_ns(trace)) {
  if (!counts_) return;
  const Nanoseconds slowness = slowness_ns(trace);
  inside_ = {kHotRecordNs, slowness * 37 / 100, slowness * 68 / 100};
  before_ = {100, slowness * 15 / 100, slowness * 75 / 100};
}

Nanoseconds RecorderCost::ByCaches::behind(Nanoseconds host_ns) const noexcept {
  const Nanoseconds first_ns = std::clamp<Nanoseconds>(host_ns, 0, kColdNs);
  const Nanoseconds further_ns = std::clamp<Nanoseconds>(host_ns - kColdNs, 0, kColderNs - kColdNs);
  return hot_ns + (cold_ns - hot_ns) * first_ns / kColdNs + (colder_ns - cold_ns) * further_ns / (kColderNs - kColdNs);
}

RecorderCost::OfCall RecorderCost::of(Nanoseconds call_ns, Nanoseconds host_ns, bool issues,
                                      bool has_stack) const noexcept {
  constexpr ByCaches kCallbacks{300, 400, 400};
  constexpr ByCaches kBeforeCallbacks{100, 800, 800};
  if (!counts_) return {};
  const Nanoseconds inside_ns = (issues ? inside_ : kCallbacks).behind(host_ns);
  const Nanoseconds before_ns = (issues ? before_ : kBeforeCallbacks).behind(host_ns) + (has_stack ? stack_ns_ : 0);
  return {limited(inside_ns, std::max(call_ns / 2, call_ns - kQuickLaunchNs)), limited(before_ns, host_ns / 2)};
}

// Measured on an H200, by work behind a long kernel, recorded and not: kernels 0.3 us, fills and copies to and from the
// host 1.3 us, copies on the GPU nothing. Nodes of a graph were not measured.
std::int16_t RecorderCost::of_work(const Operation& work) const noexcept {
  if (!counts_ || number(work.graph) != 0) return 0;
  switch (work.kind) {
    case OperationKind::kKernel: return 300;
    case OperationKind::kMemset: return 1'300;
    case OperationKind::kCopy: return work.copy_kind == CopyKind::kDeviceToDevice ? 0 : 1'300;
    case OperationKind::kGraph: break;
  }
  return 0;
}

}  // namespace synctrace
