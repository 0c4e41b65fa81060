// SPDX-License-Identifier: Apache-2.0
#include "findings/calls/queued_work.h"

#include <algorithm>
#include <iterator>

namespace synctrace {
namespace {

// Work that was queued begins so soon behind the work before it. Pauses between queued kernels are 1 to 3 us.
constexpr Nanoseconds kLongestPauseNs = 10'000;

bool issues_work(ApiCategory category) noexcept {
  return category == ApiCategory::kCopy || category == ApiCategory::kCopyAsync;
}

}  // namespace

QueuedWork::QueuedWork(const Trace& trace) : trace_(trace) {
  if (!trace.has_timeline()) return;
  for (const Operation& work : trace.operations) {
    if (work.kind != OperationKind::kKernel && work.kind != OperationKind::kGraph) continue;
    std::vector<TimeSpan>& busy = busy_[work.device];
    if (!busy.empty() && work.span.begin_ns - busy.back().end_ns <= kLongestPauseNs)
      busy.back().end_ns = std::max(busy.back().end_ns, work.span.end_ns);
    else
      busy.push_back(work.span);
  }
  for (const Launch& launch : trace.launches) issues_.push_back(launch.span.begin_ns);
  const auto launches = static_cast<std::ptrdiff_t>(issues_.size());
  for (const Call& call : trace.calls) {
    if (issues_work(call.category)) issues_.push_back(call.span.begin_ns);
  }
  std::inplace_merge(issues_.begin(), issues_.begin() + launches, issues_.end());
}

bool QueuedWork::outlasts(ContextId context, Nanoseconds t) const {
  const auto known = trace_.contexts.find(context);
  const auto busy = busy_.find(known == trace_.contexts.end() ? DeviceId{} : known->second.device);
  if (busy == busy_.end()) return false;
  const auto after = std::upper_bound(busy->second.begin(), busy->second.end(), t,
                                      [](Nanoseconds time, TimeSpan span) { return time < span.begin_ns; });
  if (after == busy->second.begin() || std::prev(after)->end_ns <= t) return false;
  const auto next = std::upper_bound(issues_.begin(), issues_.end(), t);
  return next != issues_.end() && *next < std::prev(after)->end_ns;
}

}  // namespace synctrace
