// SPDX-License-Identifier: Apache-2.0
#include "model/calibrate.h"

#include <algorithm>
#include <set>

#include "model/tolerances.h"

namespace synctrace {
namespace {

using Samples = std::unordered_map<ApiId, std::vector<Nanoseconds>>;

// Until measured: a wait returns 6 us after the GPU, at worst 20.
constexpr Quantiles kDefaultReturnLatency{3'000, 6'000, 20'000, 0};

bool is_explicit_wait(ApiCategory category) noexcept {
  return category == ApiCategory::kStreamSync || category == ApiCategory::kDeviceSync ||
         category == ApiCategory::kEventSync;
}

// A call's own cost: its length less the time in which its own copy ran.
Nanoseconds own_cost_ns(const Call& call, const Outstanding& out) noexcept {
  const Nanoseconds copying_ns = out.has_own ? intersect(call.span, out.own).length_ns() : 0;
  return call.span.length_ns() - copying_ns;
}

}  // namespace

Quantiles quantiles_of(std::vector<Nanoseconds>& values) {
  if (values.empty()) return {};
  const auto at = [&](std::size_t percent) {
    const std::size_t rank = (values.size() - 1) * percent / 100;
    std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(rank), values.end());
    return values[rank];
  };
  return {at(10), at(50), at(90), values.size()};
}

// Orders of magnitude seen on an H200 with CUDA 13; they decide only for APIs called fewer than kFewestSamples times
// with an idle GPU.
Quantiles default_cost(ApiCategory category) noexcept {
  switch (category) {
    case ApiCategory::kStreamSync:
    case ApiCategory::kDeviceSync:
    case ApiCategory::kEventSync:
    case ApiCategory::kPoll: return {1'000, 2'000, 10'000, 0};
    case ApiCategory::kCopy:  // there and back, even for a few bytes
      return {5'000, 20'000, 100'000, 0};
    case ApiCategory::kFree: return {50'000, 300'000, 1'000'000, 0};
    case ApiCategory::kHostAlloc:
    case ApiCategory::kHostFree: return {100'000, 1'000'000, 5'000'000, 0};
    case ApiCategory::kAlloc: return {50'000, 300'000, 1'000'000, 0};
    default: return {2'000, 10'000, 50'000, 0};
  }
}

Quantiles Calibration::cost_of(ApiId api, ApiCategory category) const {
  const auto measured = unblocked_cost.find(api);
  return measured != unblocked_cost.end() ? measured->second : default_cost(category);
}

bool is_slow_pool_call(const Call& call) noexcept {
  // Measured on an H200 with CUDA 13: 1 to 2 us with memory left, 530 us for 540 MiB that the pool had given back.
  constexpr Nanoseconds kSlowPoolCallNs = 50'000;
  return call.category == ApiCategory::kPoolAlloc && call.span.length_ns() >= kSlowPoolCallNs;
}

Calibration calibrate(const Trace& trace, const std::vector<Outstanding>& outstanding) {
  Samples unblocked;
  Samples all;
  std::vector<Nanoseconds> returns;
  std::set<ThreadId> has_slow_pool;  // since the thread's last wait
  for (std::size_t i = 0; i < trace.calls.size(); ++i) {
    const Call& call = trace.calls[i];
    const Outstanding& out = outstanding[i];
    all[call.api].push_back(call.span.length_ns());
    if (!in_window(trace, call.span)) continue;
    if (out.last_end_ns <= call.span.begin_ns) unblocked[call.api].push_back(own_cost_ns(call, out));
    const Nanoseconds return_ns = call.span.end_ns - std::max(out.target_end_ns, call.span.begin_ns);
    const bool waited = is_explicit_wait(call.category) && out.target_known && out.target_end_ns > call.span.begin_ns;
    if (is_slow_pool_call(call)) has_slow_pool.insert(call.thread);
    if (!waited || has_slow_pool.erase(call.thread) > 0) continue;  // the pool gives its memory back behind the work
    if (return_ns >= 0) returns.push_back(std::min(return_ns, kLongestReturnNs));
  }

  Calibration calibration;
  for (auto& [api, samples] : unblocked) {
    if (samples.size() >= kFewestSamples) calibration.unblocked_cost.emplace(api, quantiles_of(samples));
  }
  for (auto& [api, samples] : all) {
    if (samples.size() >= kFewestSamples) calibration.shortest_ns.emplace(api, quantiles_of(samples).p10_ns);
  }
  calibration.return_latency = returns.size() >= kFewestSamples ? quantiles_of(returns) : kDefaultReturnLatency;
  return calibration;
}

}  // namespace synctrace
