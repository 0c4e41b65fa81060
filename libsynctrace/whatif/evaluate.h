// SPDX-License-Identifier: Apache-2.0
// How long a program would take with given fixes: from the end of the warm-up to the end of the last step's work, or as
// a whole where it has no steps. Sets of fixes are run eight at a time.
#pragma once

#include <span>
#include <vector>

#include "attribution/steps.h"
#include "whatif/replay.h"

namespace synctrace {

using FixSet = std::vector<std::uint16_t>;  // sites

struct Trial {
  FixSet sites;
  Corner corner;
};

struct TrialResult {
  Nanoseconds time_ns = 0;
  std::vector<Nanoseconds> steps;   // time of each, where the program has steps
  std::vector<Nanoseconds> waited;  // by site
};

// What part of the program a trial runs, and from what state.
struct Stretch {
  std::size_t first = 0;  // events
  std::size_t last = 0;
  bool by_steps = false;
  std::size_t warm_up = 0;  // of the steps in the stretch, how many come before what counts
  ReplayState state;
};

class Evaluator {
 public:
  // `warm_up` steps come before what counts. The program must outlive the object.
  Evaluator(const ReplayProgram& program, const Steps& steps);

  // The whole program, and a part of it that stands for the rest where it is long: some steps in a row, because a host
  // gets ahead of the GPU only in the course of several.
  const Stretch& whole() const noexcept { return whole_; }
  const Stretch& sample() const noexcept { return sample_; }
  std::size_t first_counted() const noexcept { return marks_.empty() ? 0 : marks_.front(); }  // event
  bool by_steps() const noexcept { return whole_.by_steps; }
  std::size_t counted_steps() const noexcept { return marks_.empty() ? 0 : marks_.size() - 1; }

  // Of each trial, in order. Details (steps, waits) are left out unless asked for.
  std::vector<TrialResult> run(const Stretch& stretch, std::span<const Trial> trials, bool details) const;
  std::vector<Nanoseconds> times(const Stretch& stretch, std::span<const FixSet> sets) const;
  // What is counted, as it was recorded: all other times are those without the recorder.
  Nanoseconds recorded_ns() const;

 private:
  void choose_whole(const Steps& steps);
  void choose_sample();
  ReplayState state_at(std::size_t event) const;
  Nanoseconds time_of(const Stretch& stretch, const Outcome& outcome, std::size_t lane) const;
  Scenarios without_recorder() const;

  const ReplayProgram& program_;
  Stretch whole_;
  Stretch sample_;
  std::vector<std::size_t> marks_;  // the events at which the counted steps begin, and the last one ends
  Nanoseconds begin_ns_ = 0;        // of what counts, where no work ended before it
};

}  // namespace synctrace
