// SPDX-License-Identifier: Apache-2.0
#include "attribution/evidence.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>
#include <unordered_set>

#include "base/in_background.h"

namespace synctrace {
namespace {

// Losses after which a wait, a launch or a piece of work may be missing anywhere.
bool lost_events(const LoadStats& stats) {
  constexpr std::string_view kLosses[] = {
      kLossSkippedBytes, kLossBadChunks,  kLossMissingChunks, kLossBadRecords, kLossImpossibleTimes, kLossClockUnusable,
      "ring-full",       "cupti-dropped", "buffer-refused",   "cupti-error",   "cupti-untimed",      "file-error"};
  return std::any_of(std::begin(kLosses), std::end(kLosses), [&](std::string_view name) { return stats.count(name) > 0; });
}

Nanoseconds median_launch_ns(const Trace& trace) {
  constexpr std::size_t kMostSamples = 200'000;
  std::vector<Nanoseconds> lengths;
  const std::size_t count = std::min(kMostSamples, trace.launches.size());
  lengths.reserve(count);
  for (std::size_t i = 0; i < count; ++i) lengths.push_back(trace.launches[i].span.length_ns());
  return quantiles_of(lengths).p50_ns;
}

std::vector<std::uint32_t> launches_of_host_functions(const Trace& trace) {
  std::vector<std::uint32_t> rows;
  std::unordered_set<ApiId> apis;
  for (const auto& [id, api] : trace.apis) {
    if (api.category == ApiCategory::kHostFunction) apis.insert(id);
  }
  for (std::uint32_t row = 0; !apis.empty() && row < trace.launches.size(); ++row) {
    if (apis.contains(trace.launches[row].api)) rows.push_back(row);
  }
  return rows;
}

std::vector<std::uint32_t> first_of_each_kernel(const Trace& trace, const Correlation& correlation) {
  std::unordered_set<StringId> seen;
  std::array<StringId, 256> lately{};  // seen ones, to ask the set less often
  std::vector<std::uint32_t> first;
  for (const std::uint32_t row : correlation.by_issue()) {
    const Operation& operation = trace.operations[row];
    StringId& late = lately[number(operation.name) % lately.size()];
    if (operation.kind != OperationKind::kKernel || operation.name == late || number(operation.name) == 0) continue;
    late = operation.name;
    if (seen.insert(operation.name).second) first.push_back(row);
  }
  std::sort(first.begin(), first.end());
  return first;
}

}  // namespace

// What each thread did and what issued the GPU's work are two large joins that have nothing to do with each other.
Evidence::Evidence(const Trace& of) : Evidence(of, in_background(of.launches.size(), [&] { return HostTimeline(of); })) {}

Evidence::Evidence(const Trace& of, std::future<HostTimeline> timeline)
    : trace(of),
      correlation(of),
      order(of, correlation),
      outstanding(find_outstanding(of, correlation)),
      calibration(calibrate(of, outstanding)),
      paces(device_paces(of, correlation, order)),
      judgements(judge_calls(of, outstanding, calibration)),
      host(timeline.get()),
      runs(of, correlation, host, judgements),
      stacks(of),
      sleeps(find_gpu_sleeps(of, correlation, host, calibration, stacks)),
      votes(of, stacks),
      lossy(lost_events(of.stats)),
      launch_p50_ns(median_launch_ns(of)),
      host_functions(launches_of_host_functions(of)),
      first_launches(first_of_each_kernel(of, correlation)) {}

std::uint32_t Evidence::host_function_before(std::uint32_t operation) const {
  const auto issuer = correlation.issuer_of(operation);
  const std::uint32_t before = order.predecessor(operation);
  if (!issuer || before == kNoRow) return kNoRow;
  const TimeSpan between{correlation.issued_ns(before), correlation.issued_ns(operation)};
  const auto after = std::lower_bound(host_functions.begin(), host_functions.end(), between.end_ns, [&](std::uint32_t row, Nanoseconds t) {
    return trace.launches[row].span.begin_ns < t;
  });
  if (after == host_functions.begin()) return kNoRow;
  const Launch& launch = trace.launches[*std::prev(after)];
  const ThreadId thread = issuer->is_launch ? trace.launches[issuer->row].thread : trace.calls[issuer->row].thread;
  return launch.span.begin_ns >= between.begin_ns && launch.thread == thread ? *std::prev(after) : kNoRow;
}

bool Evidence::is_first_of_kernel(std::uint32_t operation) const noexcept {
  return std::binary_search(first_launches.begin(), first_launches.end(), operation);
}

}  // namespace synctrace
