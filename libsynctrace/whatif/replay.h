// SPDX-License-Identifier: Apache-2.0
// Runs a program again under up to eight assumptions at once (lanes), each with its own set of fixes. One pass over the
// events, a few operations per event and lane; the state is a few numbers per thread, stream, event handle and site, so
// its size does not depend on how long the recording is.
//
// All weights that a fix changes get smaller and all waits only move later in the program, so more fixes never end
// later, and no fix at all gives the recorded times exactly.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "whatif/kernel_change.h"
#include "whatif/program.h"

namespace synctrace {

inline constexpr std::size_t kLanes = 8;

struct alignas(64) Lanes {
  std::array<Nanoseconds, kLanes> at{};
};

constexpr Lanes everywhere(Nanoseconds value) {
  Lanes lanes;
  lanes.at.fill(value);
  return lanes;
}

// Assumptions about all that the recording leaves open.
struct Corner {
  enum class Latency : std::uint8_t { kTypical, kLow, kHigh };
  enum class Use : std::uint8_t { kPlanned, kNever, kNextWait };  // use of a value whose reading is deferred
  Latency latency = Latency::kTypical;                            // latency of launches whose own was hidden
  Use use = Use::kPlanned;
  bool without_delays = false;             // late starts that nothing explains do not happen
  bool slow_link = false;                  // if the speed of copies had to be assumed, it is half of that
  bool loader_keeps_pace = true;           // a loader that was the limit makes batches no faster than recorded
  const KernelLengths* lengths = nullptr;  // null: kernels take as long as recorded
  friend bool operator==(const Corner&, const Corner&) = default;
};

// The part of the recorder's estimated time that is taken off. Against bare programs at the same time the estimate was
// less than a third off in 14 of 17 measurements (docs/measurements/cost.md).
enum class RecorderOff : std::uint8_t { kNothing = 0, kLess = 2, kAll = 3, kMore = 4 };  // thirds
constexpr Nanoseconds part_of(std::int16_t ours_ns, RecorderOff off) noexcept {
  return ours_ns * static_cast<std::uint8_t>(off) / 3;
}
// A time in front of work, less the recorder's part: never below zero, where less was recorded.
constexpr Nanoseconds without(Nanoseconds weight_ns, Nanoseconds ours_ns) noexcept {
  return weight_ns - std::clamp<Nanoseconds>(weight_ns, 0, ours_ns);
}

struct Scenarios {
  explicit Scenarios(const ReplayProgram& program) : fixed(program.sites.size(), 0) {}

  void fix(std::size_t lane, std::uint16_t site) {
    fixed[site] = static_cast<std::uint8_t>(fixed[site] | (1U << lane));
  }

  std::vector<std::uint8_t> fixed;  // by site: the lanes in which it is
  std::array<Corner, kLanes> corners{};
  RecorderOff recorder_off = RecorderOff::kNothing;  // in all lanes
};

struct ReplayState {
  std::vector<Lanes> host;  // by thread: its time
  std::vector<Lanes> owed;  // by thread: the end of work whose wait was deferred to its next wait
  std::vector<Lanes> stream_end;
  std::vector<Lanes> stream_wait;  // ends that its next work has to wait for
  std::vector<Lanes> device_end;
  std::vector<Lanes> slots;
  std::vector<Lanes> read_now;  // by site: deferred reads of this step,
  std::vector<Lanes> read_due;  // and of the last one
  Lanes latest;                 // end of any work so far
};

struct Outcome {
  Lanes end;                  // end of everything
  std::vector<Lanes> steps;   // by kStep event passed: see StepEvent
  std::vector<Lanes> waited;  // by site: host time spent waiting there
};

// The state before the program's first event.
ReplayState initial_state(const ReplayProgram& program);

// The events [first, last), going on from `state`.
Outcome replay(const ReplayProgram& program, const Scenarios& scenarios, std::size_t first, std::size_t last,
               ReplayState& state);
Outcome replay(const ReplayProgram& program, const Scenarios& scenarios);

// Sees the times of the first lane while a program runs, for checks.
class ReplayObserver {
 public:
  virtual ~ReplayObserver() = default;
  // After an event: the time of its thread, and the start and end of its work (kNeverNs: it has none).
  virtual void passed(std::size_t event, Nanoseconds host_ns, Nanoseconds start_ns, Nanoseconds end_ns) = 0;
};
Outcome replay(const ReplayProgram& program, const Scenarios& scenarios, ReplayObserver& observer);

}  // namespace synctrace
