// SPDX-License-Identifier: Apache-2.0
#include "whatif/work_edges.h"

#include <algorithm>

#include "model/tolerances.h"

namespace synctrace {
namespace {

constexpr Nanoseconds kLargestWeightNs = 2'000'000'000;  // fits the field with room for sums

// The weight of a requirement: as usual, but never more than was recorded.
Nanoseconds weight_of(Nanoseconds usual_ns, Nanoseconds recorded_ns) {
  return std::min({usual_ns, recorded_ns, kLargestWeightNs});
}

}  // namespace

WorkEdges::WorkEdges(const Evidence& evidence, ReplayProgram& program) : evidence_(evidence), program_(program) {
  find_typical();
}

// How long a stream takes to go on when another one's work that it waits for has ended.
void WorkEdges::find_typical() {
  handover_ns_ = kStreamHandoverNs;
  const Trace& trace = evidence_.trace;
  std::vector<Nanoseconds> samples;
  for (std::uint32_t row = 0; row < trace.operations.size(); ++row) {
    const StreamOrder::Dependency* dependency = evidence_.order.dependency(row);
    if (dependency == nullptr) continue;
    const Operation& work = trace.operations[row];
    const Nanoseconds freed_ns = trace.operations[dependency->source].span.end_ns;
    const Nanoseconds known_ns = evidence_.correlation.issued_ns(row) + evidence_.pace_of(work.device).latency_p95_ns;
    const Nanoseconds taken_ns = work.span.begin_ns - freed_ns;
    if (known_ns <= freed_ns && taken_ns >= 0 && taken_ns <= kResidualNs) samples.push_back(taken_ns);
  }
  if (samples.size() >= kFewestSamples) handover_ns_ = quantiles_of(samples).p50_ns;
  std::size_t most = 0;
  for (const auto& [device, pace] : evidence_.paces) {
    if (pace.latency_samples < most) continue;
    most = pace.latency_samples;
    program_.pace.latency_low = static_cast<std::int32_t>(std::min(pace.latency_p10_ns, kLargestWeightNs));
    program_.pace.latency_high = static_cast<std::int32_t>(std::min(pace.latency_p95_ns, kLargestWeightNs));
    program_.pace.graph_pause_high = pace.pause_p50_ns;
  }
}

std::uint16_t WorkEdges::device_index(DeviceId device) {
  const auto [entry, is_new] = devices_.try_emplace(device, static_cast<std::uint16_t>(program_.devices));
  if (!is_new) return entry->second;
  ++program_.devices;
  paces_.push_back(evidence_.pace_of(device));
  device_ends_.push_back(kNeverNs);
  return entry->second;
}

std::uint16_t WorkEdges::add_stream(std::uint16_t device) {
  constexpr std::size_t kMostStreams = 0xffff;
  if (program_.streams.size() >= kMostStreams) {
    program_.refusal = "the program uses more streams than can be simulated";
    return 0;
  }
  const auto index = static_cast<std::uint16_t>(program_.streams.size());
  program_.streams.push_back({device, index, index});
  ends_.push_back(kNeverNs);
  waits_.push_back(kNeverNs);
  return index;
}

std::uint16_t WorkEdges::stream_of(StreamKey key, DeviceId device) {
  const auto known = streams_.find(key);
  if (known != streams_.end()) return known->second;
  const std::uint16_t on = device_index(device);
  const std::uint16_t index = add_stream(on);
  streams_.emplace(key, index);
  const StreamRole role = role_of(evidence_.trace, key);
  if (!role.legacy_default && !role.blocking) return index;
  const auto [blocking, is_new] = blocking_.try_emplace(key.context);
  if (is_new) blocking->second = add_stream(on);
  const std::uint16_t all = blocking->second;
  if (role.legacy_default) {
    program_.streams[index].waits_for = all;
  } else {
    const auto context = evidence_.trace.contexts.find(key.context);
    program_.streams[index].feeds = all;
    const bool known_default = context != evidence_.trace.contexts.end() && number(context->second.null_stream) != 0;
    program_.streams[index].waits_for =
        known_default ? stream_of({key.context, context->second.null_stream}, device) : index;
  }
  return index;
}

std::uint32_t WorkEdges::find_stream(StreamKey key) const {
  const auto known = streams_.find(key);
  return known == streams_.end() ? kNoSlot : known->second;
}

std::uint32_t WorkEdges::any_stream(DeviceId device) const {
  const auto known = devices_.find(device);
  if (known == devices_.end()) return kNoSlot;
  for (std::uint32_t i = 0; i < program_.streams.size(); ++i) {
    if (program_.streams[i].device == known->second) return i;
  }
  return kNoSlot;
}

std::uint32_t WorkEdges::stream_ending_at(Nanoseconds end_ns) const {
  const auto found = std::find(ends_.begin(), ends_.end(), end_ns);
  return found == ends_.end() ? kNoSlot : static_cast<std::uint32_t>(found - ends_.begin());
}

WorkEdges::Latency WorkEdges::issue(std::uint32_t row, Nanoseconds host_ns, Nanoseconds issued_ns,
                                    WorkWeights& weights) {
  const Operation& work = evidence_.trace.operations[row];
  weights.stream = stream_of({work.context, work.stream}, work.device);
  const ReplayStream stream = program_.streams[weights.stream];
  const Nanoseconds start_ns = work.span.begin_ns;
  if (start_ns - host_ns < -kLargestWeightNs)
    program_.refusal = "recorded times contradict each other: work began long before its call";
  const Nanoseconds foreign_ns =
      std::max(waits_[weights.stream], stream.waits_for == weights.stream ? kNeverNs : ends_[stream.waits_for]);
  count_edge(start_ns - issued_ns);
  if (foreign_ns != kNeverNs) count_edge(start_ns - foreign_ns);
  const Latency latency =
      weigh({start_ns, host_ns, issued_ns, ends_[weights.stream], foreign_ns}, paces_[stream.device], weights);
  weights.length = work.span.length_ns();

  const auto run_to = [&](Nanoseconds& end) { end = std::max(end, work.span.end_ns); };
  run_to(ends_[weights.stream]);
  run_to(device_ends_[stream.device]);
  if (stream.feeds != weights.stream) run_to(ends_[stream.feeds]);
  waits_[weights.stream] = kNeverNs;
  return latency;
}

// The rest of the recorded start goes to the requirement that came last.
WorkEdges::Latency WorkEdges::weigh(const Start& start, const DevicePace& pace, WorkWeights& work) {
  const auto since = [&](Nanoseconds end_ns) { return start.start_ns - end_ns; };
  const bool ordered = start.before_ns != kNeverNs && since(start.before_ns) > -kLargestWeightNs;
  const bool follows = start.foreign_ns != kNeverNs && since(start.foreign_ns) >= -kClockSkewNs;
  Nanoseconds latency_ns = weight_of(pace.latency_p50_ns - (start.host_ns - start.issued_ns), since(start.host_ns));
  Nanoseconds pause_ns = ordered ? weight_of(pace.pause_p50_ns, since(start.before_ns)) : 0;
  Nanoseconds handover_ns = follows ? weight_of(handover_ns_, since(start.foreign_ns)) : 0;
  const Nanoseconds by_call_ns = start.host_ns + latency_ns;
  const Nanoseconds by_stream_ns = ordered ? start.before_ns + pause_ns : kNeverNs;
  const Nanoseconds by_others_ns = follows ? start.foreign_ns + handover_ns : kNeverNs;
  const Nanoseconds last_ns = std::max({by_call_ns, by_stream_ns, by_others_ns});
  const Nanoseconds rest_ns = since(last_ns);
  const bool hidden = by_call_ns < last_ns;
  if (rest_ns > kResidualNs) {
    work.delay = rest_ns;
    ++program_.unexplained;
    program_.unexplained_ns = add_saturated(program_.unexplained_ns, rest_ns);
  } else if (!hidden) {
    latency_ns += rest_ns;
  } else {
    (by_stream_ns == last_ns ? pause_ns : handover_ns) += rest_ns;
  }
  work.latency = static_cast<std::int32_t>(latency_ns);
  work.pause = ordered ? static_cast<std::int32_t>(pause_ns) : kNoEdge;
  work.handover = follows ? static_cast<std::int32_t>(handover_ns) : kNoEdge;
  const Nanoseconds longest_ns = std::min(std::max(latency_ns, since(start.host_ns)), kLargestWeightNs + kResidualNs);
  return {hidden, static_cast<std::int32_t>(longest_ns)};
}

std::uint32_t WorkEdges::new_slot() {
  slots_.push_back(kNeverNs);
  return program_.slots++;
}

void WorkEdges::record(std::uint32_t slot, std::uint16_t stream) { slots_[slot] = queue_end(stream); }

void WorkEdges::wait_for(std::uint32_t slot, std::uint16_t stream) {
  waits_[stream] = std::max(waits_[stream], slots_[slot]);
}

}  // namespace synctrace
