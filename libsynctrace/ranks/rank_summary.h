// SPDX-License-Identifier: Apache-2.0
// What the analysis of a job keeps of one rank's trace: its collectives with the kernels that they became, and the sums
// of its devices' time. Plain data, a hundredth of the trace, so that all ranks of a large job fit into memory at once.
// Times are on the rank's own clock.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "attribution/cause.h"
#include "attribution/collective_time.h"
#include "attribution/device_state.h"
#include "attribution/device_use.h"
#include "base/ids.h"
#include "base/time_span.h"
#include "ranks/host_pace.h"
#include "steps/steps.h"

namespace synctrace {

struct Attribution;
struct Trace;

// Who waits for whom in an operation.
enum class Exchange : std::uint8_t {
  kTogether,  // nobody is done before all have come
  kFromRoot,  // all wait for the root
  kToRoot,    // the root waits for all
  kPairs,     // sends and receives
};

// What a rank gave to the GPU as one piece: the operations of a group on one communicator. The unit of matching.
//
// A rank's own time goes from one unit to the next: from when it was ready for the one before, or, where its GPU waited
// for a unit's end and then went on, from that end. A unit that its stream holds up begins later than the rank is
// ready.
struct CollectiveUnit {
  TimeSpan span;                // when its kernels ran
  TimeSpan own;                 // the rank's own time before it; ends when the rank is ready for it
  std::uint64_t turn = 0;       // its first operation's; 0: pairs
  std::uint64_t signature = 0;  // hash of the operations and their bytes: the same on all ranks
  std::uint64_t bytes = 0;
  std::uint32_t communicator = 0;  // row of RankSummary::communicators
  std::uint32_t device = 0;        // row of RankSummary::devices
  std::uint32_t operation = 0;     // row of RankSummary::operations: the name of the first
  std::uint32_t operations = 1;
  std::uint32_t after = 0;   // the unit + 1 from which the rank's own time goes on; 0: none
  std::uint32_t behind = 0;  // the unit + 1 before it in its stream; 0: none
  std::uint32_t beside = 0;  // the unit + 1 that ran during most of its own time; 0: none
  std::int32_t root = -1;    // in its communicator
  std::uint32_t step = 0;    // the ordinary step that issued it, from 1; 0: none did
  Nanoseconds work_ns = 0;   // how much of its own time the GPU was busy with work of its own
  // Directly before its kernels the GPU had nothing to do: because the host waited for it, or did something else.
  Nanoseconds drained_ns = 0;
  Nanoseconds held_ns = 0;
  Exchange exchange = Exchange::kTogether;
  bool is_of_pairs = false;  // an all-to-all that is written as sends and receives: `turn` counts those to one rank
  bool after_end = false;    // the own time goes on from the end of `after`
  bool in_steps = false;     // issued in an ordinary step
};

// A send or receive of a unit of pairs.
struct PairOperation {
  std::uint32_t unit = 0;
  std::uint32_t communicator = 0;
  std::uint32_t peer = 0;  // its rank in the communicator
  std::uint64_t turn = 0;  // among the sends to that peer, or the receives from it
  bool is_send = false;
};

struct RankCommunicator {
  std::uint64_t hash = 0;   // the same on all its ranks
  std::uint32_t ranks = 0;  // 0: not known
  std::uint32_t rank = 0;
  bool is_unnamed = false;  // NCCL's own number is not known: `hash` stands for its place among the process's
};

struct CollectiveStretch {
  TimeSpan span;
  bool in_steps = false;
};

struct RankDevice {
  DeviceId id{};
  std::string name;
  DeviceState state;
  CollectiveTime collectives;
  DeviceUse use;                             // all zero: nobody looked
  std::vector<CollectiveStretch> stretches;  // when only collectives ran: disjoint, in order of time
  std::array<Nanoseconds, kCauseKinds> idle_ns{};
  std::array<Nanoseconds, kCauseKinds> idle_in_steps_ns{};
  Nanoseconds copying_in_steps_ns = 0;
};

struct RankSummary {
  std::string path;
  std::string program;
  std::string host;
  std::string job;         // the launcher's name for it; empty: it has none
  std::int64_t rank = -1;  // the launcher's number; -1: it gives none
  std::string nccl;        // its version; empty: not known
  std::uint32_t process_id = 0;
  bool simulated = false;
  bool cut_short = false;  // its process was killed: the last of it is missing
  Nanoseconds lossy_ns = 0;
  Nanoseconds wall_lead_ns = 0;  // how far the wall clock is ahead of the rank's own
  StepFigures steps;
  Nanoseconds in_steps_ns = 0;  // lengths of the ordinary steps, added up
  std::size_t ordinary_steps = 0;
  std::size_t micro_steps = 1;  // passes of a step's loop

  std::vector<RankCommunicator> communicators;
  std::vector<std::string> operations;  // names
  std::vector<CollectiveUnit> units;    // in the order in which the rank was ready for them
  std::vector<PairOperation> pairs;     // by unit
  std::vector<RankDevice> devices;
  std::vector<std::string> breaches;  // sums that do not add up

  HostPace host_pace;
  Nanoseconds host_busy_ns = 0;  // in ordinary steps; 0: not known

  std::uint32_t gpus_as_one = 1;     // that take part in one communicator: ranks that are not told apart
  std::uint64_t captured = 0;        // operations in CUDA graphs, whose launches are not told apart
  std::uint64_t without_kernel = 0;  // groups of which no kernel was recorded
  std::uint64_t without_record = 0;  // kernels of which no operation was recorded
};

// The launcher's number for the process; -1: it gives none.
std::int64_t rank_number(const Trace& trace);

// CollectiveUnit::drained_ns and held_ns are known only where `attribution` has kept its parts.
RankSummary summarize_rank(const Trace& trace, const Attribution& attribution);

}  // namespace synctrace
