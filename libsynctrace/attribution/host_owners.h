// SPDX-License-Identifier: Apache-2.0
// The owner of host time that has no stack of its own: the stretch between the stacks around it. A library's thread
// (autograd's engine, the one that pins a loader's batches) has no line of the program in its stacks. Its time belongs
// to the line at which the thread waited that it then woke. Time between two places that no sample met belongs to the
// place where samples found the thread between the same two places before, if they agree; where it is long, also to
// that of times about as long beside one of the two.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "attribution/evidence.h"

namespace synctrace {

class HostOwners {
 public:
  explicit HostOwners(const Evidence& evidence);

  // A row of OwnerTable::kStretch or kHostWait.
  Owner of(HostTimeline::Index thread, TimeSpan span);

  // The owner of all the time between two records without a sample: a row as above, or of OwnerTable::kSample.
  Owner of_open_time(HostTimeline::Index thread, TimeSpan span);

  // The cause of such time by its owner: the data loader's, if that sample lies in one; else `kind`.
  CauseKind kind_of_open_time(Owner owner, CauseKind kind) const;

  // `owner` itself, a sleep or a sample of that time, where its stack tells a line of the program, or nobody waited.
  Owner of(HostTimeline::Index thread, TimeSpan span, Owner owner) const;

  // The owner of a call without a stack that issues work and returns at once (a launch, a memset, a copy within a
  // device): a launch with a stack that stands for it, else that of the time around it, where one is known. Every other
  // call owns itself.
  Owner of_work(Owner owner);

  // The rows of OwnerTable::kStretch.
  const std::vector<HostTimeline::Neighbours>& stretches() const noexcept { return stretches_; }

 private:
  struct PairHash {
    std::size_t operator()(const HostTimeline::Neighbours& pair) const noexcept {
      return (std::uint64_t{number(pair.before)} << 32 | number(pair.after)) * 0x9e3779b97f4a7c15U >> 7;
    }
  };

  // How well a stack tells where in the program it is.
  enum class Told : std::uint8_t { kNot, kPython, kUserCode };
  Told told(StackId stack) const;

  // Two lines between which a thread ran: of Python, else two stacks. Zero: any.
  struct Lines {
    std::uint64_t before = 0;
    std::uint64_t after = 0;
    friend bool operator<(const Lines& a, const Lines& b) noexcept {
      return a.before != b.before ? a.before < b.before : a.after < b.after;
    }
  };
  HostTimeline::Neighbours stacks_around(HostTimeline::Index thread, TimeSpan span) const;
  std::uint64_t line_of(StackId stack) const;
  std::uint64_t shown_line_of(StackId stack) const;
  Lines lines_around(HostTimeline::Index thread, TimeSpan span) const;
  Lines user_lines_around(HostTimeline::Index thread, TimeSpan span) const;
  void find_usual_samples();
  std::optional<std::uint32_t> usual_sample(HostTimeline::Index thread, TimeSpan span) const;

  // Where a thread slept at the end of the span that this one woke, told better than `own`.
  std::optional<Owner> waiting_for(HostTimeline::Index thread, TimeSpan span, Told own) const;

  const Evidence& evidence_;
  std::vector<std::vector<std::uint32_t>> ended_by_;  // the host waits that each thread ended, in order
  // The sample that stands for most of those between two lines; where they are of several places, the first of each.
  struct UsualSample {
    std::uint32_t sample = 0;
    std::uint64_t until = 0;  // the count of samples up to this place
  };
  std::map<Lines, std::vector<UsualSample>> usual_;
  struct UsualBeside {
    std::uint32_t sample = 0;
    Nanoseconds length_ns = 0;  // the middle length of the time between records
  };
  // Likewise behind or before a line of the program, where nearly all samples agree and the time is long.
  std::map<Lines, UsualBeside> usual_beside_;
  std::vector<HostTimeline::Neighbours> stretches_;
  std::uint32_t last_ = 0;  // looked up
  std::unordered_map<HostTimeline::Neighbours, std::uint32_t, PairHash> known_;
};

}  // namespace synctrace
