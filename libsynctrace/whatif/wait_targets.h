// SPDX-License-Identifier: Apache-2.0
// Finds the work that a call, query or sleep waits for, if it may wait for the GPU: by its function, and by its doings
// in the recording. Questions come in the order of the replay.
#pragma once

#include <unordered_map>

#include "whatif/work_edges.h"

namespace synctrace {

// The recorded wait: `until_ns` is the end of that work, kNeverNs where there is none.
struct WaitTarget {
  WaitFor wait_for = WaitFor::kNothing;
  std::uint32_t stream = kNoSlot;
  std::uint32_t slot = kNoSlot;
  Nanoseconds until_ns = kNeverNs;
};

class WaitTargets {
 public:
  WaitTargets(const Evidence& evidence, WorkEdges& edges);

  // For a call that issues no work of its own.
  WaitTarget of_call(std::uint32_t row) const;
  // For a call that does, once its work is issued; `queue_ns`: the end of its stream before that.
  WaitTarget of_copy(std::uint32_t row, const Operation& own, std::uint16_t stream, Nanoseconds queue_ns) const;
  WaitTarget of_poll(std::uint32_t row) const;
  WaitTarget of_sleep(std::uint32_t row) const;
  // For a launch, a fill or a copy on the GPU that had to wait until the GPU's queue had room.
  WaitTarget of_full_queue(Correlation::Issuer issuer) const;

  // An event call: the slot of its event, and whether it records it.
  std::uint32_t slot_of_event(std::uint64_t handle);
  bool records(const Call& call);
  bool knows_event(std::uint64_t handle) const { return events_.contains(handle); }

  // The slot in which the end of a piece of work has to be kept; kNoSlot: none.
  std::uint32_t kept_slot(std::uint32_t operation) const;

 private:
  WaitTarget stream_target(StreamKey key, Nanoseconds latest_ns) const;
  WaitTarget device_target(const Call& call, Nanoseconds latest_ns) const;
  WaitTarget hidden_target(std::uint32_t row) const;
  WaitTarget end_of_work(Nanoseconds end_ns) const;
  void find_full_queues();
  void keep_ends();
  void find_polled_streams();

  const Evidence& evidence_;
  WorkEdges& edges_;
  std::unordered_map<std::uint64_t, std::uint32_t> events_;
  std::unordered_map<ApiId, bool> records_;
  std::unordered_map<std::uint32_t, std::uint32_t> kept_;        // operation -> slot
  std::unordered_map<std::uint32_t, Nanoseconds> launch_room_;   // launch that found the queue full -> when it had room
  std::unordered_map<std::uint32_t, Nanoseconds> call_room_;     // likewise for other calls that issue work
  std::unordered_map<Nanoseconds, std::uint32_t> slots_by_end_;  // only work that these and sleeps waited for
  struct Polled {
    StreamKey stream;
    DeviceId device{};
  };
  std::unordered_map<std::uint64_t, Polled> polled_;  // handle of a stream -> what is known of it
};

}  // namespace synctrace
