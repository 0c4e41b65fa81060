// SPDX-License-Identifier: Apache-2.0
#include "whatif/recorder_cost.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace synctrace {
namespace {

constexpr Nanoseconds kColdNs = 4'000;  // of host time before a call: nothing is left in the first caches

constexpr Nanoseconds kHotRecordNs = 500;
constexpr Nanoseconds kUsualColdRecordNs = 3'500;  // where a trace has too few launches to tell
constexpr Nanoseconds kOldStackNs = 2'600;         // of recorders that did not yet say it
constexpr Nanoseconds kMostStackNs = 8'000;

// What a launch behind other code takes without CUPTI: what it took beyond this is CUPTI's and ours. By the four
// programs that ran without us beside themselves on a slow host: launches of 6.8 to 8.7 us, 1.15 to 1.52 times the
// usual cost.
constexpr Nanoseconds kBareLaunchNs = 2'700;
constexpr Nanoseconds kLeastColdRecordNs = 1'000;
constexpr Nanoseconds kMostColdRecordNs = 8'000;

constexpr std::size_t kFewestLaunches = 50;
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
  if (cold.size() < kFewestLaunches) return 0;
  const auto middle = cold.begin() + static_cast<std::ptrdiff_t>(cold.size() / 2);
  std::nth_element(cold.begin(), middle, cold.end());
  return *middle;
}

Nanoseconds cold_record_ns(const Trace& trace) {
  const Nanoseconds launch_ns = usual_cold_launch_ns(trace);
  if (launch_ns == 0) return kUsualColdRecordNs;
  return std::clamp(launch_ns - kBareLaunchNs, kLeastColdRecordNs, kMostColdRecordNs);
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
      with_record_{kHotRecordNs, counts_ ? cold_record_ns(trace) : kUsualColdRecordNs},
      stack_ns_(usual_stack_ns(trace)) {}

Nanoseconds RecorderCost::ByCaches::behind(Nanoseconds host_ns) const noexcept {
  return hot_ns + (cold_ns - hot_ns) * std::clamp<Nanoseconds>(host_ns, 0, kColdNs) / kColdNs;
}

RecorderCost::OfCall RecorderCost::of(Nanoseconds call_ns, Nanoseconds host_ns, bool issues,
                                      bool has_stack) const noexcept {
  constexpr ByCaches kCallbacks{300, 400};
  constexpr ByCaches kBefore{100, 800};
  if (!counts_) return {};
  const Nanoseconds before_ns = kBefore.behind(host_ns) + (has_stack ? stack_ns_ : 0);
  return {limited((issues ? with_record_ : kCallbacks).behind(host_ns), std::max(call_ns / 2, call_ns - kBareLaunchNs)),
          limited(before_ns, host_ns / 2)};
}

}  // namespace synctrace
