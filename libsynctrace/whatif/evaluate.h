// SPDX-License-Identifier: Apache-2.0
// How long a program would take with given fixes: its ordinary steps, added up, or as a whole where it has no steps.
// All else runs too, for what it leaves behind, and is not counted. Sets of fixes are run eight at a time.
#pragma once

#include <span>
#include <vector>

#include "steps/steps.h"
#include "whatif/host_turns.h"
#include "whatif/replay.h"

namespace synctrace {

using FixSet = std::vector<std::uint16_t>;  // sites

struct Trial {
  FixSet sites;
  Corner corner;
};

struct TrialResult {
  Nanoseconds time_ns = 0;
  std::vector<Nanoseconds> steps;   // one time for each ordinary step, where the program has steps
  std::vector<Nanoseconds> waited;  // by site
};

// The part of the program that a trial runs, and the state that it starts from.
struct Stretch {
  std::size_t first = 0;  // events
  std::size_t last = 0;
  bool by_steps = false;
  std::size_t first_mark = 0;  // the number of its first kStep event
  std::size_t from = 0;        // among the counted steps
  std::size_t to = 0;
  ReplayState state;
};

class Evaluator {
 public:
  // The program must outlive the object.
  Evaluator(const ReplayProgram& program, const Steps& steps);

  // The whole program, and a part of it that stands for the rest where it is long: some steps in a row, because a host
  // gets ahead of the GPU only in the course of several.
  const Stretch& whole() const noexcept { return whole_; }
  const Stretch& sample() const noexcept { return sample_; }
  // False: the sample is the whole.
  bool is_sampled() const noexcept { return sample_.last - sample_.first != whole_.last - whole_.first; }
  bool by_steps() const noexcept { return whole_.by_steps; }
  std::size_t counted_steps() const noexcept { return counted_.size(); }
  // The sum of `weigh`'s answers for the events that are counted.
  template <class Weigh>
  double sum_over_counted(Weigh&& weigh) const {
    double sum = 0;
    const auto add = [&](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i) sum += weigh(program_.events[i]);
    };
    if (!by_steps()) add(whole_.first, whole_.last);
    for (const CountedStep& step : counted_) add(step.first, step.last);
    return sum;
  }

  // One result for each trial, in order. Details (steps, waits) are left out unless asked for.
  std::vector<TrialResult> run(const Stretch& stretch, std::span<const Trial> trials, bool details,
                               RecorderOff off = RecorderOff::kAll) const;
  std::vector<Nanoseconds> times(const Stretch& stretch, std::span<const FixSet> sets) const;
  // The counted time as it was recorded: all other times are those without the recorder.
  Nanoseconds recorded_ns(const Outcome& recorded) const;

 private:
  // An ordinary step: the kStep events of its begin and its end, and their numbers among those.
  struct CountedStep {
    std::size_t first = 0;
    std::size_t last = 0;
    StepMarks marks;
  };

  void choose_whole(const Steps& steps);
  void choose_sample();
  ReplayState state_at(std::size_t event) const;
  Nanoseconds time_of(const Stretch& stretch, const Outcome& outcome, std::size_t lane) const;
  Nanoseconds length_of(std::size_t counted, const Stretch& stretch, const Outcome& outcome, std::size_t lane) const;
  Scenarios without_recorder(RecorderOff off) const;

  const ReplayProgram& program_;
  Stretch whole_;
  Stretch sample_;
  std::vector<CountedStep> counted_;
};

}  // namespace synctrace
