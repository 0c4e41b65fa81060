// SPDX-License-Identifier: Apache-2.0
// Explains a gap: from the start of the operation that ended it, back in time along whatever had come last of what it
// needed (its launch, the work before it, another device), and along what the launching thread had been doing, and who
// had woken it, until the gap's begin. Each stretch passed becomes a part; together they fill the gap exactly.
//
// Every step moves back in time or to another thread (at most kMostJumps of these in a row, and in all some for each
// record of a sleep), so it ends; each record of a thread is passed at most once per gap, and gaps of a device are
// disjoint: O(records + operations) per device. A gap of more than kMostSteps steps has an unknown rest.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attribution/classify.h"
#include "attribution/device_gaps.h"
#include "attribution/host_owners.h"

namespace synctrace {

class Walk {
 public:
  explicit Walk(const Evidence& evidence);

  // Adds the parts of the gaps of one group, by begin.
  void explain(DeviceId device, std::span<const Gap> gaps, std::vector<Part>& parts);

  // Host time of which only the stacks around it are known: the rows of OwnerTable::kStretch.
  const std::vector<HostTimeline::Neighbours>& stretches() const noexcept { return owners_.stretches(); }

 private:
  static constexpr int kMostJumps = 64;
  // Steps in one gap: a thread that calls every half millisecond for ten minutes makes as many.
  static constexpr std::uint32_t kMostSteps = 1U << 20;

  void explain_idle(const Gap& gap);
  void explain_copying(std::span<const Gap> gaps, std::vector<Part>& parts);
  void add(TimeSpan span, CauseKind kind, Owner owner, Confidence confidence, Reason reason = Reason::kNone);

  // Fill [from_ns, start of the operation) into found_, latest first.
  void walk_back(std::uint32_t operation, Nanoseconds from_ns);
  struct Requirement {
    std::uint32_t operation = kNoRow;
    const StreamOrder::Dependency* by_event = nullptr;
    Nanoseconds end_ns = 0;
  };
  Requirement last_requirement(std::uint32_t operation) const;
  bool rests_on_losses(std::uint32_t operation, const Requirement& requirement) const;
  bool lacks_names(Owner owner) const;
  bool was_ready(std::uint32_t operation, TimeSpan call, Nanoseconds since_ns) const;
  void explain_start(std::uint32_t operation, const Requirement& requirement, TimeSpan span);
  void explain_latency(std::uint32_t operation, Correlation::Issuer issuer, Nanoseconds from_ns);
  void walk_host(HostTimeline::Index thread, Nanoseconds t, Nanoseconds from_ns);
  Owner owner_of_piece(const HostPiece& piece, HostTimeline::Index thread, TimeSpan span);
  void add_piece(const HostPiece& piece, HostTimeline::Index thread, TimeSpan span, CauseKind kind,
                 Confidence confidence);
  bool jump(const HostPiece& piece, HostTimeline::Index& thread, Nanoseconds& t, Nanoseconds begin_ns);

  const Evidence& evidence_;
  HostClassifier classifier_;
  HostOwners owners_;
  DeviceId device_{};
  ThreadId thread_{};
  bool inferred_ = false;         // the rest of this walk rests on a guess
  std::uint32_t steps_ = 0;       // this walk's, back in time or to another thread
  std::uint64_t jumps_left_ = 0;  // left to all walks: four for each record to jump from
  std::vector<Part> found_;
};

}  // namespace synctrace
