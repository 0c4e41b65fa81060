// SPDX-License-Identifier: Apache-2.0
#include "attribution/device_state.h"

#include <algorithm>

#include "attribution/device_gaps.h"
#include "model/check.h"
#include "model/trace.h"

namespace synctrace {
namespace {

// Walks time forward through one device's operations, by begin, and adds up what no later operation can change: all
// before the begin of the current one.
class Partition {
 public:
  explicit Partition(const std::vector<Window>& windows) : windows_(windows) {}

  void add(const Operation& operation) {
    settle(operation.span.begin_ns);
    Nanoseconds& end_ns = is_transfer(operation) ? copy_end_ns_ : compute_end_ns_;
    end_ns = std::max(end_ns, operation.span.end_ns);
  }

  DeviceState finish() {
    settle(kLatestTime);
    for (const Window& window : windows_) state_.window_ns += window.span.length_ns();
    SYNCTRACE_CHECK(state_.compute_ns + state_.copy_only_ns + state_.idle_ns == state_.window_ns);
    return state_;
  }

 private:
  // [settled_ns_, until_ns) is compute up to the end of the last compute, then copy, then idle.
  void settle(Nanoseconds until_ns) {
    const Nanoseconds compute_ns = std::clamp(compute_end_ns_, settled_ns_, until_ns);
    const Nanoseconds copy_ns = std::clamp(copy_end_ns_, compute_ns, until_ns);
    state_.compute_ns += recorded_ns({settled_ns_, compute_ns});
    state_.copy_only_ns += recorded_ns({compute_ns, copy_ns});
    state_.idle_ns += recorded_ns({copy_ns, until_ns});
    settled_ns_ = until_ns;
  }

  // How much of a span lies in windows. Spans come in order of time, so the windows before it are done with.
  Nanoseconds recorded_ns(TimeSpan span) {
    while (window_ < windows_.size() && windows_[window_].span.end_ns <= span.begin_ns) ++window_;
    Nanoseconds sum_ns = 0;
    for (std::size_t i = window_; i < windows_.size() && windows_[i].span.begin_ns < span.end_ns; ++i) {
      sum_ns += intersect(span, windows_[i].span).length_ns();
    }
    return sum_ns;
  }

  const std::vector<Window>& windows_;
  std::size_t window_ = 0;
  Nanoseconds settled_ns_ = 0;
  Nanoseconds compute_end_ns_ = 0;
  Nanoseconds copy_end_ns_ = 0;
  DeviceState state_;
};

}  // namespace

std::map<DeviceId, DeviceState> device_states(const Trace& trace) {
  std::map<DeviceId, DeviceState> states;
  if (!trace.has_timeline()) return states;
  std::map<DeviceId, Partition> partitions;
  for (const auto& [id, context] : trace.contexts) partitions.try_emplace(context.device, trace.windows);
  auto last = partitions.end();
  for (const Operation& operation : trace.operations) {
    if (last == partitions.end() || last->first != operation.device) {
      last = partitions.try_emplace(operation.device, trace.windows).first;
    }
    last->second.add(operation);
  }
  for (auto& [device, partition] : partitions) states.emplace(device, partition.finish());
  return states;
}

}  // namespace synctrace
