// SPDX-License-Identifier: Apache-2.0
#include "model/device_pace.h"

#include <algorithm>
#include <vector>

#include "model/calibrate.h"
#include "model/tolerances.h"

namespace synctrace {
namespace {

// Quantiles of many launches are those of the first: bounds memory, costs nothing in accuracy.
constexpr std::size_t kMostSamples = 200'000;

struct PaceSamples {
  std::vector<Nanoseconds> latencies;
  std::vector<Nanoseconds> pauses;
};

Nanoseconds quantile(std::vector<Nanoseconds>& values, std::size_t percent) {
  const std::size_t rank = (values.size() - 1) * percent / 100;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(rank), values.end());
  return values[rank];
}

class Collector {
 public:
  Collector(const Trace& trace, const Correlation& correlation, const StreamOrder& order)
      : trace_(trace), correlation_(correlation), order_(order) {}

  void add(std::uint32_t index, PaceSamples& samples) const {
    if (samples.latencies.size() == kMostSamples && samples.pauses.size() == kMostSamples) return;
    const auto issuer = correlation_.issuer_of(index);
    if (!issuer || !issuer->is_launch) return;
    const Operation& operation = trace_.operations[index];
    const std::uint32_t before = order_.predecessor(index);
    if (before != kNoRow && trace_.operations[before].correlation == operation.correlation) return;  // one graph
    const Nanoseconds issued_ns = trace_.launches[issuer->row].span.begin_ns;
    const Nanoseconds free_ns = before == kNoRow ? 0 : trace_.operations[before].span.end_ns;
    if ((free_ns <= issued_ns ? samples.latencies : samples.pauses).size() == kMostSamples) return;
    const StreamOrder::Dependency* dependency = order_.dependency(index);
    if (dependency != nullptr && trace_.operations[dependency->source].span.end_ns > std::min(issued_ns, free_ns))
      return;
    if (free_ns <= issued_ns) {
      const Nanoseconds latency_ns = operation.span.begin_ns - issued_ns;
      if (latency_ns >= 0 && latency_ns <= kLongestLatencyNs) samples.latencies.push_back(latency_ns);
    } else if (queued_in_time(issuer->row, free_ns)) {
      const Nanoseconds pause_ns = operation.span.begin_ns - free_ns;
      if (pause_ns >= 0 && pause_ns <= kLongestDevicePauseNs) samples.pauses.push_back(pause_ns);
    }
  }

 private:
  // Well before the stream became free: a launch takes its time to reach the device.
  bool queued_in_time(std::uint32_t launch, Nanoseconds free_ns) const {
    return trace_.launches[launch].span.end_ns + DevicePace{}.latency_p95_ns <= free_ns;
  }

  const Trace& trace_;
  const Correlation& correlation_;
  const StreamOrder& order_;
};

DevicePace pace_of(PaceSamples& samples) {
  DevicePace pace;
  pace.latency_samples = samples.latencies.size();
  pace.pause_samples = samples.pauses.size();
  if (samples.latencies.size() >= kFewestSamples) {
    pace.latency_p10_ns = quantile(samples.latencies, 10);
    pace.latency_p50_ns = quantile(samples.latencies, 50);
    pace.latency_p95_ns = quantile(samples.latencies, 95);
  }
  if (samples.pauses.size() >= kFewestSamples) {
    pace.pause_p50_ns = quantile(samples.pauses, 50);
    pace.pause_p95_ns = quantile(samples.pauses, 95);
  }
  return pace;
}

}  // namespace

std::map<DeviceId, DevicePace> device_paces(const Trace& trace, const Correlation& correlation,
                                            const StreamOrder& order) {
  const Collector collector(trace, correlation, order);
  std::map<DeviceId, PaceSamples> samples;
  PaceSamples* last = nullptr;
  DeviceId last_device{};
  for (std::uint32_t index = 0; index < trace.operations.size(); ++index) {
    const DeviceId device = trace.operations[index].device;
    if (last == nullptr || device != last_device) last = &samples[device];
    last_device = device;
    collector.add(index, *last);
  }
  std::map<DeviceId, DevicePace> paces;
  for (auto& [device, collected] : samples) paces.emplace(device, pace_of(collected));
  return paces;
}

}  // namespace synctrace
