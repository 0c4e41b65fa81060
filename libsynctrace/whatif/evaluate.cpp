// SPDX-License-Identifier: Apache-2.0
#include "whatif/evaluate.h"

#include <algorithm>

#include "base/shares.h"

namespace synctrace {
namespace {

constexpr std::size_t kSampleEvents = 20'000;  // the order of fixes is found on about as many
constexpr std::size_t kFewestOrdinary = 4;     // steps
constexpr Share kNearlyAllSteps = percent(90);

// A step ends when its work does: one without work has no end, and the next one begins with it.
bool has_both_ends(const std::vector<Step>& steps, std::size_t i) {
  return steps[i].done_ns > 0 && (i == 0 || steps[i - 1].done_ns > 0);
}

}  // namespace

Evaluator::Evaluator(const ReplayProgram& program, const Steps& steps) : program_(program) {
  choose_whole(steps);
  choose_sample();
}

// Neither its calls nor what CUPTI said about itself take any time.
Scenarios Evaluator::without_recorder(RecorderOff off) const {
  Scenarios scenarios(program_);
  scenarios.recorder_off = off;
  for (std::size_t site = 0; site < program_.sites.size(); ++site) {
    if (program_.sites[site].fix == Fix::kNoProfiler) scenarios.fixed[site] = 0xff;
  }
  return scenarios;
}

ReplayState Evaluator::state_at(std::size_t event) const {
  ReplayState state = initial_state(program_);
  replay(program_, without_recorder(RecorderOff::kAll), 0, event, state);
  return state;
}

void Evaluator::choose_whole(const Steps& steps) {
  // A program is fixed from its begin on, and its host may be ahead of the GPU when the steps that count begin.
  whole_.last = program_.events.size();
  whole_.state = initial_state(program_);
  std::vector<std::size_t> events;  // the kStep events
  for (std::size_t i = 0; i < program_.events.size(); ++i) {
    if (program_.events[i].kind == EventKind::kStep) events.push_back(i);
  }
  const std::vector<StepMarks> marks = step_marks(steps.steps);
  std::size_t ordinary = 0;
  for (std::size_t i = 0; i < marks.size(); ++i) {
    if (steps.steps[i].kind != StepKind::kSteady) continue;
    ++ordinary;
    if (has_both_ends(steps.steps, i)) counted_.push_back({events[marks[i].begin], events[marks[i].end], marks[i]});
  }
  whole_.by_steps = counted_.size() >= kFewestOrdinary && ratio(counted_.size(), ordinary) >= kNearlyAllSteps;
  if (!whole_.by_steps) return counted_.clear();
  whole_.last = counted_.back().last + 1;
  whole_.to = counted_.size();
}

void Evaluator::choose_sample() {
  sample_ = whole_;
  if (!whole_.by_steps || whole_.last - whole_.first < 2 * kSampleEvents) return;
  std::size_t from = counted_.size() / 2;
  std::size_t to = from;
  const auto is_short = [&] { return to == from || counted_[to - 1].last - counted_[from].first < kSampleEvents; };
  while (to < counted_.size() && (is_short() || to - from < kFewestOrdinary)) {
    ++to;
    if (from > 0 && is_short()) --from;
  }
  sample_.first = counted_[from].first;
  sample_.last = counted_[to - 1].last + 1;
  sample_.first_mark = counted_[from].marks.begin;
  sample_.from = from + std::min<std::size_t>(2, (to - from) / 2);  // before which the host gets under way
  sample_.to = to;
  sample_.state = state_at(sample_.first);
}

Nanoseconds Evaluator::length_of(std::size_t counted, const Stretch& stretch, const Outcome& outcome,
                                 std::size_t lane) const {
  const StepMarks& marks = counted_[counted].marks;
  // A step that begins anew behind a pause does so no earlier when a fix shortens the pause, but its work does.
  return std::max<Nanoseconds>(0, outcome.steps[marks.end - stretch.first_mark].at[lane] -
                                      outcome.steps[marks.begin - stretch.first_mark].at[lane]);
}

Nanoseconds Evaluator::time_of(const Stretch& stretch, const Outcome& outcome, std::size_t lane) const {
  if (!stretch.by_steps) return outcome.end.at[lane] - program_.first_work_ns;
  Nanoseconds sum = 0;
  for (std::size_t i = stretch.from; i < stretch.to; ++i) sum += length_of(i, stretch, outcome, lane);
  return sum;
}

Nanoseconds Evaluator::recorded_ns(const Outcome& recorded) const { return time_of(whole_, recorded, 0); }

std::vector<TrialResult> Evaluator::run(const Stretch& stretch, std::span<const Trial> trials, bool details,
                                        RecorderOff off) const {
  std::vector<TrialResult> results(trials.size());
  for (std::size_t base = 0; base < trials.size(); base += kLanes) {
    const std::size_t count = std::min(kLanes, trials.size() - base);
    Scenarios scenarios = without_recorder(off);
    for (std::size_t lane = 0; lane < count; ++lane) {
      scenarios.corners[lane] = trials[base + lane].corner;
      for (const std::uint16_t site : trials[base + lane].sites) scenarios.fix(lane, site);
    }
    ReplayState state = stretch.state;
    const Outcome outcome = replay(program_, scenarios, stretch.first, stretch.last, state);
    for (std::size_t lane = 0; lane < count; ++lane) {
      TrialResult& result = results[base + lane];
      result.time_ns = time_of(stretch, outcome, lane);
      if (!details) continue;
      for (std::size_t i = stretch.from; i < stretch.to; ++i)
        result.steps.push_back(length_of(i, stretch, outcome, lane));
      for (const Lanes& waited : outcome.waited) result.waited.push_back(waited.at[lane]);
    }
  }
  return results;
}

std::vector<Nanoseconds> Evaluator::times(const Stretch& stretch, std::span<const FixSet> sets) const {
  std::vector<Trial> trials;
  for (const FixSet& set : sets) trials.push_back({set, {}});
  std::vector<Nanoseconds> times;
  for (const TrialResult& result : run(stretch, trials, false)) times.push_back(result.time_ns);
  return times;
}

}  // namespace synctrace
