// SPDX-License-Identifier: Apache-2.0
#include "whatif/evaluate.h"

#include <algorithm>

namespace synctrace {
namespace {

constexpr std::size_t kSampleEvents = 20'000;  // the order of fixes is found on about as many
constexpr std::size_t kFewestSteps = 4;

std::size_t warm_up_of(const Steps& steps) {
  const auto first = std::find_if(steps.steps.begin(), steps.steps.end(),
                                  [](const Step& step) { return step.phase != Phase::kWarmUp; });
  return static_cast<std::size_t>(first - steps.steps.begin());
}

bool has_work(const Steps& steps) {
  return std::all_of(steps.steps.begin(), steps.steps.end(), [](const Step& step) { return step.done_ns > 0; });
}

}  // namespace

Evaluator::Evaluator(const ReplayProgram& program, const Steps& steps) : program_(program) {
  choose_whole(steps);
  choose_sample();
}

// Neither its calls nor what CUPTI said about itself take any time.
Scenarios Evaluator::without_recorder() const {
  Scenarios scenarios(program_);
  scenarios.without_recorder = true;
  for (std::size_t site = 0; site < program_.sites.size(); ++site) {
    if (program_.sites[site].fix == Fix::kNoProfiler) scenarios.fixed[site] = 0xff;
  }
  return scenarios;
}

ReplayState Evaluator::state_at(std::size_t event) const {
  ReplayState state = initial_state(program_);
  replay(program_, without_recorder(), 0, event, state);
  return state;
}

void Evaluator::choose_whole(const Steps& steps) {
  const std::size_t warm_up = warm_up_of(steps);
  whole_.by_steps = steps.steps.size() - warm_up >= kFewestSteps && has_work(steps);
  whole_.last = program_.events.size();
  begin_ns_ = program_.first_work_ns;
  whole_.state = initial_state(program_);
  if (!whole_.by_steps) return;
  for (std::size_t i = 0; i < program_.events.size(); ++i) {
    if (program_.events[i].kind == EventKind::kStep && program_.events[i].row >= warm_up) marks_.push_back(i);
  }
  // A program is fixed from its begin on, and its host may be ahead of the GPU when the steps that count begin.
  whole_.last = marks_.back() + 1;
  whole_.warm_up = warm_up;
  begin_ns_ = steps.steps[warm_up].host.begin_ns;
}

void Evaluator::choose_sample() {
  sample_ = whole_;
  if (!whole_.by_steps || whole_.last - whole_.first < 2 * kSampleEvents) return;
  std::size_t from = (marks_.size() - 1) / 2;
  std::size_t to = from;
  while (to + 1 < marks_.size() && (marks_[to] - marks_[from] < kSampleEvents || to - from < kFewestSteps)) {
    ++to;
    if (from > 0 && marks_[to] - marks_[from] < kSampleEvents) --from;
  }
  sample_.first = marks_[from];
  sample_.last = marks_[to] + 1;
  sample_.warm_up = std::min<std::size_t>(2, (to - from) / 2);  // in which the host gets under way
  sample_.state = state_at(sample_.first);
}

Nanoseconds Evaluator::time_of(const Stretch& stretch, const Outcome& outcome, std::size_t lane) const {
  if (!stretch.by_steps) return outcome.end.at[lane] - begin_ns_;
  const Nanoseconds first_ns = outcome.steps[stretch.warm_up].at[lane];
  return outcome.steps.back().at[lane] - (first_ns == kNeverNs ? begin_ns_ : first_ns);
}

Nanoseconds Evaluator::recorded_ns() const {
  ReplayState state = whole_.state;
  return time_of(whole_, replay(program_, Scenarios(program_), whole_.first, whole_.last, state), 0);
}

std::vector<TrialResult> Evaluator::run(const Stretch& stretch, std::span<const Trial> trials, bool details) const {
  std::vector<TrialResult> results(trials.size());
  for (std::size_t base = 0; base < trials.size(); base += kLanes) {
    const std::size_t count = std::min(kLanes, trials.size() - base);
    Scenarios scenarios = without_recorder();
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
      for (std::size_t i = stretch.warm_up + 1; stretch.by_steps && i < outcome.steps.size(); ++i) {
        const Nanoseconds last_ns = outcome.steps[i - 1].at[lane];
        result.steps.push_back(outcome.steps[i].at[lane] - (last_ns == kNeverNs ? begin_ns_ : last_ns));
      }
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
