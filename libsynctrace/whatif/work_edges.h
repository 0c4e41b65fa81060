// SPDX-License-Identifier: Apache-2.0
// The requirements of each piece of GPU work, as WorkWeights, while the recorded run goes by: the ends of streams,
// devices and event marks so far, in recorded time. Each weight is at most the recorded one, so that a piece of work
// never starts later than recorded. The rest goes to the requirement that came last, or, if it is long, is a delay that
// nothing explains.
#pragma once

#include <algorithm>
#include <map>
#include <unordered_map>
#include <vector>

#include "attribution/evidence.h"
#include "model/tolerances.h"
#include "whatif/program.h"

namespace synctrace {

class WorkEdges {
 public:
  WorkEdges(const Evidence& evidence, ReplayProgram& program);

  std::uint16_t stream_of(StreamKey key, DeviceId device);
  // The slot of a stream that has had work or an event; else kNoSlot.
  std::uint32_t find_stream(StreamKey key) const;
  std::uint32_t stream_ending_at(Nanoseconds end_ns) const;
  // A stream of the device; kNoSlot when it has had no work.
  std::uint32_t any_stream(DeviceId device) const;

  // Facts about the latency of work, beside its weight.
  struct Latency {
    bool hidden = false;
    std::int32_t longest_ns = 0;
  };
  // Fills in the stream and the weights of a piece of work, and lets it run. `host_ns`: the recorded time of its thread
  // at that point of the replay; `issued_ns`: the begin of its call.
  Latency issue(std::uint32_t operation, Nanoseconds host_ns, Nanoseconds issued_ns, WorkWeights& work);

  // Marks of events and of the ends of single pieces of work.
  std::uint32_t new_slot();
  void record(std::uint32_t slot, std::uint16_t stream);
  void wait_for(std::uint32_t slot, std::uint16_t stream);
  void keep_end(std::uint32_t slot, std::uint16_t stream) { slots_[slot] = ends_[stream]; }

  Nanoseconds stream_end(std::uint32_t stream) const { return ends_[stream]; }
  Nanoseconds queue_end(std::uint32_t stream) const { return std::max(ends_[stream], waits_[stream]); }
  Nanoseconds device_end(std::uint32_t stream) const { return device_ends_[program_.streams[stream].device]; }
  Nanoseconds slot(std::uint32_t slot) const { return slots_[slot]; }

  void count_edge(Nanoseconds slack_ns) {
    ++program_.edges;
    if (slack_ns < -kClockSkewNs) ++program_.violations;
  }

 private:
  // The recorded start of work, and the ends that it may have waited for.
  struct Start {
    Nanoseconds start_ns = 0;
    Nanoseconds host_ns = 0;
    Nanoseconds issued_ns = 0;
    Nanoseconds before_ns = kNeverNs;   // the end of its stream
    Nanoseconds foreign_ns = kNeverNs;  // the end of work in other streams
  };
  Latency weigh(const Start& start, const DevicePace& pace, WorkWeights& work);
  std::uint16_t add_stream(std::uint16_t device);
  std::uint16_t device_index(DeviceId device);
  void find_typical();

  const Evidence& evidence_;
  ReplayProgram& program_;
  std::unordered_map<StreamKey, std::uint16_t, StreamKeyHash> streams_;
  std::unordered_map<ContextId, std::uint16_t>
      blocking_;  // the stream that stands for all that wait for the default one
  std::map<DeviceId, std::uint16_t> devices_;
  std::vector<DevicePace> paces_;  // by device
  std::vector<Nanoseconds> ends_;  // by stream
  std::vector<Nanoseconds> waits_;
  std::vector<Nanoseconds> device_ends_;
  std::vector<Nanoseconds> slots_;
  Nanoseconds handover_ns_ = 0;
};

}  // namespace synctrace
