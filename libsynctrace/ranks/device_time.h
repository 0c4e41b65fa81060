// SPDX-License-Identifier: Apache-2.0
// What one rank's GPU did with its time, with the time inside collectives told apart: moving data, or waiting for which
// rank. A partition, exact to the nanosecond:
//
//   compute     a kernel, a memset, a copy inside the device, or a graph ran (collectives beside it are "overlapped")
//   transfer    only collectives ran, and all ranks had come to one of them
//   waiting     only collectives ran, and all of them waited for a rank that had not come yet
//   unsplit     only collectives ran, and it is not known which of both
//   copying     only copies ran
//   idle        nothing ran; by cause
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "ranks/split.h"

namespace synctrace {

struct DeviceTime {
  Nanoseconds whole_ns = 0;
  Nanoseconds compute_ns = 0;
  Nanoseconds transfer_ns = 0;
  Nanoseconds waiting_ns = 0;
  Nanoseconds unsplit_ns = 0;
  Nanoseconds copying_ns = 0;
  Nanoseconds idle_ns = 0;
  std::map<std::uint32_t, Nanoseconds> waiting_for;  // sums to waiting_ns; kNoRank: one without a trace, or not known
  std::array<Nanoseconds, kCauseKinds> idle_by_cause{};  // sums to idle_ns
  // What collectives did during compute_ns. No part of the sum.
  Nanoseconds overlapped_transfer_ns = 0;
  Nanoseconds overlapped_waiting_ns = 0;
};

struct RankTime {
  DeviceTime all;       // the recorded windows
  DeviceTime in_steps;  // the ordinary steps; without steps the same as all, less what came before and after all work
};

// `device`: a row of RankSummary::devices.
RankTime device_time(const RankSummary& rank, std::uint32_t device, const std::vector<UnitSplit>& units);

// Empty: the parts add up; else which do not.
std::string check_sum(const DeviceTime& time);

}  // namespace synctrace
