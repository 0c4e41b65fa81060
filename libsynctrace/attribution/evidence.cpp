// SPDX-License-Identifier: Apache-2.0
#include "attribution/evidence.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "base/in_background.h"

namespace synctrace {
namespace {

// A wait that is not in the trace leaves the host time after it uncharged, up to the next wait that really waited: so
// each stretch of losses lasts until there was one for each device.
std::vector<TimeSpan> with_aftermath(const Trace& trace, const std::vector<Judgement>& judgements) {
  std::vector<TimeSpan> spans;
  std::set<DeviceId> all_devices;
  for (const auto& [id, context] : trace.contexts) all_devices.insert(context.device);
  auto call = trace.calls.begin();
  for (TimeSpan span : trace.lossy) {
    if (!spans.empty() && span.begin_ns <= spans.back().end_ns) {
      if (span.end_ns <= spans.back().end_ns) continue;
      span.begin_ns = spans.back().begin_ns;
      spans.pop_back();
    }
    std::set<DeviceId> devices = all_devices;
    call = std::lower_bound(call, trace.calls.end(), span.end_ns,
                            [](const Call& row, Nanoseconds t) { return row.span.begin_ns < t; });
    for (; call != trace.calls.end() && !devices.empty(); ++call) {
      const auto context = trace.contexts.find(call->context);
      // An event may be of another device than the one that waits for it.
      const bool waited =
          judgements[static_cast<std::size_t>(call - trace.calls.begin())].verdict == Verdict::kBlocked &&
          call->category != ApiCategory::kEventSync;
      if (!waited || context == trace.contexts.end()) continue;
      devices.erase(context->second.device);
      span.end_ns = std::max(span.end_ns, call->span.end_ns);
    }
    if (!devices.empty()) span.end_ns = kLatestTime + 1;
    spans.push_back(span);
  }
  return spans;
}

Nanoseconds median_launch_ns(const Trace& trace) {
  constexpr std::size_t kMostLaunches = 200'000;
  std::vector<Nanoseconds> lengths;
  const std::size_t count = std::min(kMostLaunches, trace.launches.size());
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

Correlation followed(Correlation&& correlation, const Trace& trace) {
  correlation.follow(trace);
  return std::move(correlation);
}

}  // namespace

// The host's timeline and the joins of work with calls are large and independent: one is made beside the other.
Evidence::Evidence(const Trace& of, std::optional<Joins> joins)
    : Evidence{of, in_background(of.launches.size(), [&] { return HostTimeline(of); }),
               joins ? *std::move(joins) : Joins(of)} {}

Evidence::Evidence(const Trace& of, std::future<HostTimeline> timeline, Joins joins)
    : trace(of),
      correlation(followed(std::move(joins.correlation), of)),
      order(of, correlation),
      outstanding(std::move(joins.outstanding)),
      calibration(calibrate(of, outstanding)),
      paces(device_paces(of, correlation, order)),
      judgements(judge_calls(of, outstanding, calibration)),
      host(timeline.get()),
      found_runs(
          in_background(of.launches.size(), [this] { return LaunchRuns(trace, correlation, host, judgements); })),
      stacks(of),
      usual_launches(of, correlation, stacks),
      sleeps(find_gpu_sleeps(of, correlation, host, calibration, stacks)),
      votes(of, stacks),
      breaks(of, host),
      lossy(with_aftermath(of, judgements)),
      launch_p50_ns(median_launch_ns(of)),
      host_functions(launches_of_host_functions(of)),
      first_launches(first_of_each_kernel(of, correlation)),
      runs(found_runs.get()) {}

std::uint32_t Evidence::host_function_before(std::uint32_t operation) const {
  const auto issuer = correlation.issuer_of(operation);
  const std::uint32_t before = order.predecessor(operation);
  if (!issuer || before == kNoRow) return kNoRow;
  const TimeSpan between{correlation.issued_ns(before), correlation.issued_ns(operation)};
  const auto after =
      std::lower_bound(host_functions.begin(), host_functions.end(), between.end_ns,
                       [&](std::uint32_t row, Nanoseconds t) { return trace.launches[row].span.begin_ns < t; });
  if (after == host_functions.begin()) return kNoRow;
  const Launch& launch = trace.launches[*std::prev(after)];
  const ThreadId thread = issuer->is_launch ? trace.launches[issuer->row].thread : trace.calls[issuer->row].thread;
  return launch.span.begin_ns >= between.begin_ns && launch.thread == thread ? *std::prev(after) : kNoRow;
}

bool Evidence::is_first_of_kernel(std::uint32_t operation) const noexcept {
  return std::binary_search(first_launches.begin(), first_launches.end(), operation);
}

}  // namespace synctrace
