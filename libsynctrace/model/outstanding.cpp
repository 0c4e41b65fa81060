// SPDX-License-Identifier: Apache-2.0
#include "model/outstanding.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <set>
#include <unordered_map>
#include <utility>

#include "model/tolerances.h"

namespace synctrace {
namespace {

// One stream while the sweep goes on.
struct Lane {
  StreamKey key;
  std::size_t device = 0;
  StreamRole role;
  Nanoseconds end_ns = kNoTime;
  Nanoseconds listed_end_ns = kNoTime;  // the end under which its device lists it
};

// The streams of one device by the end of their last work. Updates wait until somebody asks: a thousand launches into
// one stream cost one.
struct Ends {
  std::set<std::pair<Nanoseconds, std::size_t>> by_end;  // end, lane
  std::vector<std::size_t> changed;
};

class Sweep {
 public:
  Sweep(const Trace& trace, const Correlation& correlation) : trace_(trace), correlation_(correlation) {}

  std::vector<Progress> run_at(const std::vector<Nanoseconds>& times) {
    std::vector<Progress> all;
    all.reserve(times.size());
    auto next = correlation_.by_issue().begin();
    for (const Nanoseconds time_ns : times) {
      for (; next != correlation_.by_issue().end() && correlation_.issued_ns(*next) < time_ns; ++next) issue(*next);
      Progress& progress = all.emplace_back();
      for (std::size_t i = 0; i < ends_.size(); ++i) {
        const Ends& ends = refreshed(i);
        if (ends.by_end.empty()) continue;
        progress.last_end_ns = std::max(progress.last_end_ns, ends.by_end.rbegin()->first);
        const auto [end_ns, lane] = latest_end_until(ends, time_ns + kClockSkewNs);
        if (lane == nullptr || end_ns <= progress.end_before_ns) continue;
        progress.end_before_ns = end_ns;
        progress.device = devices_[i];
      }
    }
    return all;
  }

  std::vector<Outstanding> run() {
    std::vector<Outstanding> all;
    all.reserve(trace_.calls.size());
    const auto by_issue = correlation_.by_issue();
    auto next = by_issue.begin();
    for (const Call& call : trace_.calls) {
      for (; next != by_issue.end() && correlation_.issued_ns(*next) < call.span.begin_ns; ++next) issue(*next);
      all.push_back(look(call));
    }
    return all;
  }

 private:
  void issue(std::uint32_t index) {
    const Operation& operation = trace_.operations[index];
    const std::size_t at = lane_at({operation.context, operation.stream}, operation.device);
    Lane& lane = lanes_[at];
    if (operation.span.end_ns <= lane.end_ns) return;
    if (lane.end_ns == lane.listed_end_ns) ends_[lane.device].changed.push_back(at);
    lane.end_ns = operation.span.end_ns;
  }

  std::size_t lane_at(StreamKey key, DeviceId device);
  const Lane* find_lane(StreamKey key) const {
    const auto found = lane_index_.find(key);
    return found == lane_index_.end() ? nullptr : &lanes_[found->second];
  }

  const Ends& refreshed(std::size_t device);
  std::pair<Nanoseconds, const Lane*> latest_end_until(const Ends& ends, Nanoseconds limit_ns) const;

  Outstanding look(const Call& call);
  void look_at_device(const Call& call, const Ends& ends, Outstanding& out) const;
  void look_at_own(const Call& call, const Operation& own, Outstanding& out);
  void look_at_target(const Call& call, Outstanding& out);
  bool ordered(const Lane& earlier, StreamKey own_key, bool own_legacy) const;

  const Trace& trace_;
  const Correlation& correlation_;
  std::vector<Lane> lanes_;
  std::size_t last_lane_ = 0;      // looked up; work comes in runs of one stream
  std::vector<Ends> ends_;         // per device
  std::vector<DeviceId> devices_;  // beside ends_
  std::unordered_map<StreamKey, std::size_t, StreamKeyHash> lane_index_;
  std::unordered_map<DeviceId, std::size_t> device_index_;
  std::unordered_map<std::uint64_t, Nanoseconds> event_ends_;  // event handle -> end of the work before its last record
};

std::size_t Sweep::lane_at(StreamKey key, DeviceId device) {
  if (last_lane_ < lanes_.size() && lanes_[last_lane_].key == key) return last_lane_;
  const auto [entry, is_new] = lane_index_.try_emplace(key, lanes_.size());
  last_lane_ = entry->second;
  if (!is_new) return entry->second;
  const auto [device_entry, is_new_device] = device_index_.try_emplace(device, ends_.size());
  if (is_new_device) {
    ends_.emplace_back();
    devices_.push_back(device);
  }
  lanes_.push_back({key, device_entry->second, role_of(trace_, key)});
  return entry->second;
}

const Ends& Sweep::refreshed(std::size_t device) {
  Ends& ends = ends_[device];
  for (const std::size_t at : ends.changed) {
    Lane& lane = lanes_[at];
    if (lane.listed_end_ns != kNoTime) ends.by_end.erase({lane.listed_end_ns, at});
    ends.by_end.insert({lane.end_ns, at});
    lane.listed_end_ns = lane.end_ns;
  }
  ends.changed.clear();
  return ends;
}

std::pair<Nanoseconds, const Lane*> Sweep::latest_end_until(const Ends& ends, Nanoseconds limit_ns) const {
  const auto after = ends.by_end.upper_bound({limit_ns, lanes_.size()});
  if (after == ends.by_end.begin()) return {kNoTime, nullptr};
  return {std::prev(after)->first, &lanes_[std::prev(after)->second]};
}

Outstanding Sweep::look(const Call& call) {
  Outstanding out;
  const auto own = correlation_.work_of({false, static_cast<std::uint32_t>(&call - trace_.calls.data())});
  if (own) {
    out.has_own = true;
    out.own = own->span;
  }
  const auto context = trace_.contexts.find(call.context);
  const auto device =
      context == trace_.contexts.end() ? device_index_.end() : device_index_.find(context->second.device);
  if (device != device_index_.end()) {
    look_at_device(call, refreshed(device->second), out);
  } else if (context == trace_.contexts.end()) {
    for (std::size_t i = 0; i < ends_.size(); ++i) look_at_device(call, refreshed(i), out);
  }
  if (own) look_at_own(call, trace_.operations[own->first_operation], out);
  look_at_target(call, out);
  return out;
}

void Sweep::look_at_device(const Call& call, const Ends& ends, Outstanding& out) const {
  if (ends.by_end.empty()) return;
  out.last_end_ns = std::max(out.last_end_ns, ends.by_end.rbegin()->first);
  out.end_before_return_ns =
      std::max(out.end_before_return_ns, latest_end_until(ends, call.span.end_ns + kClockSkewNs).first);
}

// True when the order of streams puts the own work after the earlier work.
bool Sweep::ordered(const Lane& earlier, StreamKey own_key, bool own_legacy) const {
  if (earlier.key == own_key) return true;
  if (earlier.key.context != own_key.context) return false;
  if (own_legacy) return earlier.role.blocking;
  const auto own_stream = trace_.streams.find(own_key);
  const bool own_blocking =
      own_stream != trace_.streams.end() && (own_stream->second.flags & format::Stream::kNonBlocking) == 0;
  return earlier.role.legacy_default && own_blocking;
}

void Sweep::look_at_own(const Call& call, const Operation& own, Outstanding& out) {
  const StreamKey key{own.context, own.stream};
  const auto device = device_index_.find(own.device);
  if (device == device_index_.end()) return;
  const auto [end_ns, lane] = latest_end_until(refreshed(device->second), out.own.begin_ns + kClockSkewNs);
  if (lane == nullptr) return;
  const auto context = trace_.contexts.find(own.context);
  const bool legacy = (call.flags & format::Call::kLegacyStream) != 0 ||
                      (context != trace_.contexts.end() && context->second.null_stream == own.stream);
  out.end_before_own_ns = end_ns;
  out.own_in_order = ordered(*lane, key, legacy);
  // Another stream may happen to have ended between the work that the copy queued behind and the copy itself.
  const Lane* same = find_lane(key);
  if (!out.own_in_order && same != nullptr && same->end_ns > call.span.begin_ns &&
      same->end_ns <= out.own.begin_ns + kClockSkewNs) {
    out.end_before_own_ns = same->end_ns;
    out.own_in_order = true;
  }
}

void Sweep::look_at_target(const Call& call, Outstanding& out) {
  const Lane* lane = number(call.stream) == 0 ? nullptr : find_lane({call.context, call.stream});
  switch (call.category) {
    case ApiCategory::kStreamSync:
      out.target_known = number(call.stream) != 0;
      if (lane != nullptr) out.target_end_ns = lane->end_ns;
      return;
    case ApiCategory::kDeviceSync:
      out.target_known = true;
      out.target_end_ns = out.last_end_ns;
      return;
    case ApiCategory::kEventSync: {
      const auto event = event_ends_.find(call.object);
      out.target_known = event != event_ends_.end();
      if (out.target_known) out.target_end_ns = event->second;
      return;
    }
    case ApiCategory::kStreamEvent: {
      // A record makes its event the mark of its stream's work. A wait on the device has an event and a stream too, but
      // leaves the event's own mark alone.
      const auto api = trace_.apis.find(call.api);
      const bool records = api != trace_.apis.end() && api->second.name.find("EventRecord") != std::string::npos;
      if (records && call.object != 0) event_ends_[call.object] = lane == nullptr ? kNoTime : lane->end_ns;
      return;
    }
    default: return;
  }
}

}  // namespace

std::vector<Progress> find_progress(const Trace& trace, const Correlation& correlation,
                                    const std::vector<Nanoseconds>& times) {
  return Sweep(trace, correlation).run_at(times);
}

std::vector<Outstanding> find_outstanding(const Trace& trace, const Correlation& correlation) {
  return Sweep(trace, correlation).run();
}

}  // namespace synctrace
