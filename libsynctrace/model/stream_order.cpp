// SPDX-License-Identifier: Apache-2.0
#include "model/stream_order.h"

#include <algorithm>
#include <unordered_map>

#include "base/large_rows.h"

namespace synctrace {
namespace {

// The end of a stream as an event or another stream sees it.
struct Mark {
  std::uint32_t source = kNoRow;
  std::uint32_t call = kNoRow;
};

struct Lane {
  StreamRole role;
  std::uint32_t last = kNoRow;
  Mark pending;  // what waits since the last operation wait for
};

struct DefaultOrder {
  std::uint32_t last_legacy = kNoRow;
  std::uint32_t latest_blocking = kNoRow;  // the one that ends latest
};

class Sweep {
 public:
  Sweep(const Trace& trace, const Correlation& correlation, std::vector<std::uint32_t>& predecessors,
        std::vector<StreamOrder::Dependency>& dependencies)
      : trace_(trace), correlation_(correlation), predecessors_(predecessors), dependencies_(dependencies) {}

  void run() {
    auto next = trace_.calls.begin();
    for (const std::uint32_t index : correlation_.by_issue()) {
      const Nanoseconds issued_ns = correlation_.issued_ns(index);
      for (; next != trace_.calls.end() && next->span.begin_ns < issued_ns; ++next) {
        if (next->category == ApiCategory::kStreamEvent && next->object != 0) follow(*next);
      }
      issue(index);
    }
    const auto order = [](const auto& a, const auto& b) { return a.operation < b.operation; };
    std::sort(dependencies_.begin(), dependencies_.end(), order);
  }

 private:
  Nanoseconds end_of(std::uint32_t row) const { return row == kNoRow ? -1 : trace_.operations[row].span.end_ns; }

  Lane& lane_of(StreamKey key) {
    if (last_lane_ != nullptr && key == last_key_) return *last_lane_;
    const auto [entry, is_new] = lanes_.try_emplace(key);
    if (is_new) entry->second.role = role_of(trace_, key);
    last_key_ = key;
    last_lane_ = &entry->second;
    return entry->second;
  }

  // The work of another stream that the legacy default stream's rule puts before this one.
  std::uint32_t order_by_default_stream(std::uint32_t index, const Lane& lane);

  void follow(const Call& call);
  void issue(std::uint32_t index);

  const Trace& trace_;
  const Correlation& correlation_;
  std::vector<std::uint32_t>& predecessors_;
  std::vector<StreamOrder::Dependency>& dependencies_;
  std::unordered_map<StreamKey, Lane, StreamKeyHash> lanes_;
  StreamKey last_key_;
  Lane* last_lane_ = nullptr;
  std::unordered_map<std::uint64_t, Mark> events_;
  std::unordered_map<ContextId, DefaultOrder> defaults_;
  std::unordered_map<ApiId, bool> records_;  // true: the call records an event; false: it waits for one
};

void Sweep::follow(const Call& call) {
  const auto [entry, is_new] = records_.try_emplace(call.api, false);
  if (is_new) entry->second = api_name(trace_, call.api).find("EventRecord") != std::string::npos;
  Lane& lane = lane_of({call.context, call.stream});
  const std::uint32_t row = static_cast<std::uint32_t>(&call - trace_.calls.data());
  if (entry->second) {
    // The pending wait is part of what the event marks.
    const bool waits = end_of(lane.pending.source) > end_of(lane.last);
    events_[call.object] = {waits ? lane.pending.source : lane.last, row};
    return;
  }
  const auto event = events_.find(call.object);
  if (event == events_.end()) return;  // a wait; or a destruction, which names no event that is waited for again
  if (end_of(event->second.source) > end_of(lane.pending.source)) lane.pending = event->second;
}

std::uint32_t Sweep::order_by_default_stream(std::uint32_t index, const Lane& lane) {
  if (!lane.role.legacy_default && !lane.role.blocking) return kNoRow;
  DefaultOrder& order = defaults_[trace_.operations[index].context];
  if (lane.role.legacy_default) {
    order.last_legacy = index;
    return order.latest_blocking;
  }
  if (end_of(index) > end_of(order.latest_blocking)) order.latest_blocking = index;
  return order.last_legacy;
}

void Sweep::issue(std::uint32_t index) {
  const Operation& operation = trace_.operations[index];
  Lane& lane = lane_of({operation.context, operation.stream});
  predecessors_[index] = lane.last;
  Mark mark = lane.pending;
  const std::uint32_t implied = order_by_default_stream(index, lane);
  if (end_of(implied) > end_of(mark.source)) mark = {implied, kNoRow};
  if (mark.source != kNoRow && end_of(mark.source) > end_of(lane.last)) {
    dependencies_.push_back({index, mark.source, mark.call});
  }
  lane.pending = {};
  lane.last = index;
}

}  // namespace

StreamOrder::StreamOrder(const Trace& trace, const Correlation& correlation)
    : predecessors_(large_rows(trace.operations.size(), kNoRow)) {
  Sweep(trace, correlation, predecessors_, dependencies_).run();
}

const StreamOrder::Dependency* StreamOrder::dependency(std::uint32_t operation) const noexcept {
  const auto found =
      std::lower_bound(dependencies_.begin(), dependencies_.end(), operation,
                       [](const Dependency& entry, std::uint32_t value) { return entry.operation < value; });
  return found != dependencies_.end() && found->operation == operation ? &*found : nullptr;
}

}  // namespace synctrace
