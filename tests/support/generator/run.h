// SPDX-License-Identifier: Apache-2.0
// The generator's machine: plays a program by discrete events and keeps, for every moment at which something began,
// what it had been waiting for. So the true cause of every nanosecond of a device's idle time is known: it is read off
// these links, without looking at any record. Shares no code with attribution/.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "support/generator/program.h"

namespace synctrace::testing::generator {

// One thing that a host thread did, as a recorder could see it.
struct HostEvent {
  TimeSpan span;
  std::uint32_t thread = 0;
  std::uint32_t place = 0;
  Act act = Act::kCompute;
  std::uint32_t stream = 0;
  std::uint32_t object = 0;
  std::uint32_t correlation = 0;
  std::uint32_t waker = 0;  // thread + 1 of a kBlock
  Nanoseconds wake_ns = 0;
};

struct DeviceEvent {
  TimeSpan span;
  std::uint32_t device = 0;
  std::uint32_t stream = 0;
  std::uint32_t correlation = 0;
  std::uint32_t graph = 0;
  Act act = Act::kLaunch;
};

// Why a device was idle (or only copying) in `span`. `cause` is one of the names that reports use.
struct TruthPart {
  TimeSpan span;
  std::uint32_t device = 0;
  std::string_view cause;
  std::uint32_t place = 0;
  std::string_view activity;  // the host's; equals `cause` unless a wait had drained the queue
  std::uint32_t activity_place = 0;
  bool copying = false;
};

struct Run {
  std::vector<HostEvent> host;
  std::vector<DeviceEvent> device;
  std::vector<TruthPart> truth;
  Nanoseconds end_ns = 0;
  std::uint32_t deadlocked_threads = 0;
};

inline constexpr Nanoseconds kRunBeginNs = 1'000'000;

// The same program and seed give the same run.
Run play(const Program& program, std::uint64_t seed);

}  // namespace synctrace::testing::generator
