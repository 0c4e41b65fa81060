// SPDX-License-Identifier: Apache-2.0
// The program's phases, each with its steps: those that are named, and those that are found in the rest.
#include <algorithm>
#include <charconv>
#include <string>
#include <utility>

#include "attribution/steps.h"
#include "attribution/steps/step_candidates.h"
#include "attribution/steps/step_items.h"
#include "attribution/steps/step_search.h"
#include "attribution/steps/step_split.h"

namespace synctrace {
namespace {

constexpr std::size_t kFewForSure = 8;
constexpr double kAlikeForSure = 0.9;
constexpr double kSmallestPhase = 0.02;  // of the time of the first

void judge(const FoundLoop& loop, Steps& steps) {
  const bool is_named = steps.source == StepSource::kLoop;
  if (steps.steps.size() < kFewForSure) {
    steps.confidence = StepConfidence::kLow;
    steps.doubt = "only " + std::to_string(steps.steps.size()) + " were seen";
  } else if (!loop.is_marked && !is_named) {
    steps.confidence = StepConfidence::kLow;
    steps.doubt = "only launches repeat, and no line is known that loops";
  } else if (loop.likeness < kAlikeForSure) {
    steps.confidence = StepConfidence::kMedium;
    steps.doubt = "they do not do the same work each time";
  }
}

// Of the steps behind the warm-up, which may have loaded code for seconds.
Nanoseconds time_of(const Steps& steps) {
  Nanoseconds sum = 0;
  for (const Step& step : steps.steps) {
    if (step.kind != StepKind::kWarmUp) sum = add_saturated(sum, step.length_ns);
  }
  return sum;
}

Steps given_steps(const Trace& trace, const Correlation& correlation, const StepQuestion& question) {
  if (question.line.empty()) return steps_by_ranges(trace, correlation, question.range);
  const std::size_t colon = question.line.rfind(':');
  std::uint32_t line = 0;
  if (colon == std::string::npos) return {};
  std::from_chars(question.line.data() + colon + 1, question.line.data() + question.line.size(), line);
  return steps_by_line(trace, std::string_view(question.line).substr(0, colon), line);
}

}  // namespace

StepPhases find_steps(const Trace& trace, const Correlation& correlation, const StepQuestion& question) {
  std::vector<Steps> phases;
  Steps given = given_steps(trace, correlation, question);
  const bool is_asked = !question.range.empty() || !question.line.empty();
  if (is_asked && given.steps.empty()) return {};
  const StepItems items = step_items(trace, correlation, given.steps);
  StepLooks looks(trace);
  const std::vector<FoundLoop> loops = find_loops(items, looks);
  for (const FoundLoop& loop : loops) {
    phases.push_back(steps_of(items, loop.steps));
    phases.back().micro_steps = loop.micro_steps;
    looks.name(phases.back(), items);
    judge(loop, phases.back());
  }
  std::erase_if(phases, [](const Steps& steps) { return steps.steps.size() < kFewestSteps; });
  const std::ptrdiff_t given_count = given.steps.empty() ? 0 : 1;
  if (!given.steps.empty()) phases.insert(phases.begin(), std::move(given));
  for (Steps& phase : phases) measure_steps(trace, correlation, phase);
  if (phases.empty()) return {};
  // What is given stays first.
  std::stable_sort(phases.begin() + given_count, phases.end(),
                   [](const Steps& a, const Steps& b) { return time_of(a) > time_of(b); });
  const auto least_ns = static_cast<Nanoseconds>(kSmallestPhase * static_cast<double>(time_of(phases.front())));
  std::erase_if(phases, [&](const Steps& steps) { return time_of(steps) < least_ns; });
  const std::size_t wanted = question.phase == 0 ? 0 : question.phase - 1;
  if (wanted >= phases.size()) return {{}, std::move(phases)};
  StepPhases result{std::move(phases[wanted]), {}};
  phases.erase(phases.begin() + static_cast<std::ptrdiff_t>(wanted));
  result.others = std::move(phases);
  return result;
}

}  // namespace synctrace
