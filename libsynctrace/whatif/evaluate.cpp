// SPDX-License-Identifier: Apache-2.0
#include "whatif/evaluate.h"

#include <algorithm>

namespace synctrace {
namespace {

constexpr std::size_t kSampleEvents = 20'000;  // the order of fixes is found on about as many
constexpr std::size_t kFewestSteps = 4;

std::size_t warm_up_of(const Steps& steps) {
  const auto first = std::find_if(steps.steps.begin(), steps.steps.end(), [](const Step& step) { return step.phase != Phase::kWarmUp; });
  return static_cast<std::size_t>(first - steps.steps.begin());
}

bool has_work(const Steps& steps) {
  return std::all_of(steps.steps.begin(), steps.steps.end(), [](const Step& step) { return step.done_ns > 0; });
}

}  // namespace

Evaluator::Evaluator(const ReplayProgram& program, const Steps& steps) : program_(program) {
  whole_.last = program.events.size();
  whole_.state = initial_state(program);
  whole_.warm_up = warm_up_of(steps);
  counted_steps_ = steps.steps.size() - whole_.warm_up;
  whole_.by_steps = counted_steps_ >= kFewestSteps && has_work(steps);
  begin_ns_ = whole_.by_steps ? steps.steps[whole_.warm_up].host.begin_ns : program.begin_ns;
  choose_sample(steps);
}

void Evaluator::choose_sample(const Steps& steps) {
  sample_ = whole_;
  if (!whole_.by_steps || program_.events.size() < 2 * kSampleEvents) return;
  std::vector<std::size_t> marks;  // events at which steps begin
  for (std::size_t i = 0; i < program_.events.size(); ++i) {
    if (program_.events[i].kind == EventKind::kStep) marks.push_back(i);
  }
  const std::size_t middle = (whole_.warm_up + marks.size() - 1) / 2;
  std::size_t from = middle;
  std::size_t to = middle;
  while (to + 1 < marks.size() && (marks[to] - marks[from] < kSampleEvents || to - from < kFewestSteps)) {
    ++to;
    if (from > whole_.warm_up && marks[to] - marks[from] < kSampleEvents) --from;
  }
  static_cast<void>(steps);
  // One step more, in which the host gets under way.
  sample_.first = marks[from];
  sample_.last = marks[to] + 1;
  sample_.first_step = from;
  sample_.warm_up = 1;
  replay(program_, Scenarios(program_), 0, sample_.first, sample_.state);
}

std::vector<TrialResult> Evaluator::run(const Stretch& stretch, std::span<const Trial> trials, bool details) const {
  std::vector<TrialResult> results(trials.size());
  for (std::size_t base = 0; base < trials.size(); base += kLanes) {
    const std::size_t count = std::min(kLanes, trials.size() - base);
    Scenarios scenarios(program_);
    for (std::size_t lane = 0; lane < count; ++lane) {
      scenarios.corners[lane] = trials[base + lane].corner;
      for (const std::uint16_t site : trials[base + lane].sites) scenarios.fix(lane, site);
    }
    ReplayState state = stretch.state;
    const Outcome outcome = replay(program_, scenarios, stretch.first, stretch.last, state);
    for (std::size_t lane = 0; lane < count; ++lane) {
      TrialResult& result = results[base + lane];
      if (stretch.by_steps) {
        Nanoseconds last_ns = outcome.steps[stretch.warm_up].at[lane];
        if (last_ns == kNeverNs) last_ns = begin_ns_;
        result.time_ns = outcome.steps.back().at[lane] - last_ns;
        for (std::size_t i = stretch.warm_up + 1; details && i < outcome.steps.size(); ++i) {
          result.steps.push_back(outcome.steps[i].at[lane] - last_ns);
          last_ns = outcome.steps[i].at[lane];
        }
      } else {
        result.time_ns = outcome.end.at[lane] - begin_ns_;
      }
      if (!details) continue;
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
