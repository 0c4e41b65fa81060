// SPDX-License-Identifier: Apache-2.0
// Names what a host thread was doing just before a moment, as a cause: one piece of a CUDA call, of a wait, or of the
// time between records, cut where the answer changes.
#pragma once

#include <cstdint>
#include <vector>

#include "attribution/cause.h"
#include "attribution/evidence.h"

namespace synctrace {

struct HostPiece {
  Nanoseconds begin_ns = 0;  // the answer holds from here to the moment asked about
  CauseKind kind = CauseKind::kHostCompute;
  Owner owner;
  Confidence confidence = Confidence::kHigh;
  bool asleep = false;  // waits for another thread: ask who woke it
};

class HostClassifier {
 public:
  explicit HostClassifier(const Evidence& evidence) : evidence_(evidence) {}

  // The piece that holds the nanosecond before t, for a gap of `device`. It begins at `limit_ns` at the earliest.
  HostPiece piece_before(HostTimeline::Index thread, Nanoseconds t, Nanoseconds limit_ns, DeviceId device) const;

  // The cause of the time that a waiting call cost the host.
  CauseKind kind_of_wait(std::uint32_t call) const;
  DeviceId device_of(const Call& call) const;

 private:
  HostPiece of_call(std::uint32_t row, Nanoseconds t, DeviceId device) const;
  HostPiece of_copy(std::uint32_t row, Nanoseconds t) const;
  HostPiece of_launch(std::uint32_t row) const;
  HostPiece of_sleep(std::uint32_t row, Nanoseconds t, DeviceId device) const;
  HostPiece of_gpu_sleep(const GpuSleep& sleep, CauseKind kind, Owner owner, Nanoseconds t, DeviceId device) const;
  HostPiece of_open_time(HostTimeline::Index thread, const HostItem& open, Nanoseconds t, DeviceId device) const;
  HostPiece of_sample(std::uint32_t row) const;
  std::uint32_t told_by(const std::vector<std::uint32_t>& samples, std::vector<std::uint32_t>::const_iterator at,
                        TimeSpan open) const;

  const Evidence& evidence_;
};

}  // namespace synctrace
