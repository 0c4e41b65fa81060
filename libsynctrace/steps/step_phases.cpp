// SPDX-License-Identifier: Apache-2.0
// The program's phases, each with its steps: those that are named, and those that are found in the rest.
#include <algorithm>
#include <charconv>
#include <iterator>
#include <numeric>
#include <string>
#include <utility>

#include "steps/compile_time.h"
#include "steps/step_candidates.h"
#include "steps/step_items.h"
#include "steps/step_lengths.h"
#include "steps/step_limits.h"
#include "steps/step_search.h"
#include "steps/step_split.h"
#include "steps/steps.h"

namespace synctrace {
namespace {

struct Phase {
  Steps steps;
  double work_ns = 0;  // time of its kernels; 0 without a timeline
};

void judge(const FoundLoop& loop, Steps& steps) {
  const bool is_named = steps.source == StepSource::kLoop;
  if (steps.steps.size() < kStepsForSure) {
    steps.confidence = StepConfidence::kLow;
    steps.doubt = "only " + std::to_string(steps.steps.size()) + " were seen";
  } else if (!loop.is_marked && !is_named) {
    steps.confidence = StepConfidence::kLow;
    steps.doubt = "only launches repeat, and no line is known that loops";
  } else if (steps.is_by_log) {
    steps.confidence = StepConfidence::kMedium;
    steps.doubt = "each may be " + std::to_string(loop.micro_steps) + " steps, of which the last logs a line";
  } else if (loop.likeness < kAlikeForSure) {
    steps.confidence = StepConfidence::kMedium;
    steps.doubt = "they do not do the same work each time";
  }
}

// The time of the steps behind the warm-up, which may have loaded code for seconds.
Nanoseconds time_of(const Steps& steps) {
  Nanoseconds sum = 0;
  for (const Step& step : steps.steps) {
    if (step.kind != StepKind::kWarmUp) sum = add_saturated(sum, step.length_ns);
  }
  return sum;
}

// The time with the warm-up, but without steps that load code: they come once however long the program runs.
Nanoseconds whole_time_of(const Trace& trace, const Steps& steps) {
  Nanoseconds sum = time_of(steps);
  for (const Step& step : steps.steps) {
    if (step.kind == StepKind::kWarmUp && !loads_code(trace, step)) sum = add_saturated(sum, step.length_ns);
  }
  return sum;
}

double work_ns_of(const FoundLoop& loop, const StepItems& items) {
  double busy_ns = 0;
  for (const ItemRange step : loop.steps) {
    for (std::size_t i = step.begin; i < step.end; ++i) {
      if ((items.traits[i] & StepItems::kWork) != 0) busy_ns += static_cast<double>(items.busy_ns[i]);
    }
  }
  return busy_ns;
}

// Whether it builds layers or parameters for a later loop: beside that one it computes hardly anything.
bool sets_up(const Phase& phase, const std::vector<Phase>& phases) {
  return std::any_of(phases.begin(), phases.end(), [&](const Phase& other) {
    return phase.steps.steps.back().host.end_ns <= other.steps.steps.front().host.begin_ns &&
           phase.work_ns < kLittleWork.of(other.work_ns);
  });
}

// Whether most of its time compiles what many more passes of the same line then run.
bool only_compiles(const Phase& phase, const std::vector<Phase>& phases, const CompileTime& compile, ThreadId thread) {
  const Steps& own = phase.steps;
  const bool goes_on = std::any_of(phases.begin(), phases.end(), [&](const Phase& other) {
    return own.where.line != 0 && other.steps.where.line == own.where.line &&
           other.steps.where.file == own.where.file &&
           own.steps.back().host.end_ns <= other.steps.steps.front().host.end_ns &&
           other.steps.steps.size() / kTimesOfCompiling >= own.steps.size();
  });
  if (!goes_on) return false;
  const TimeSpan whole{own.steps.front().host.begin_ns, own.steps.back().host.end_ns};
  std::size_t inside = 0;
  for (std::size_t i = 0; i < kLooksAtCompiling; ++i) {
    const auto at = static_cast<Nanoseconds>(2 * i + 1);
    inside +=
        compile.has(thread, whole.begin_ns + whole.length_ns() / static_cast<Nanoseconds>(2 * kLooksAtCompiling) * at);
  }
  return ratio(inside, kLooksAtCompiling) >= kAtLeastHalf;
}

// The longest first, and behind them those that only set up or compile, without those that are short: parameters of six
// layers.
std::vector<Steps> in_order(const Trace& trace, std::vector<Phase> phases) {
  std::vector<std::size_t> order(phases.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::vector<std::pair<bool, Nanoseconds>> ranks;
  const CompileTime compile(trace);
  const ThreadId first{trace.process_id};
  for (const Phase& phase : phases) {
    const bool is_start = sets_up(phase, phases) || only_compiles(phase, phases, compile, first);
    ranks.emplace_back(is_start, -whole_time_of(trace, phase.steps));
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return ranks[a] < ranks[b]; });
  std::vector<Steps> result;
  for (const std::size_t i : order) {
    if (ranks[i].first && phases[i].steps.steps.size() < kStepsForSure) continue;
    result.push_back(std::move(phases[i].steps));
  }
  return result;
}

// Whether a good part of what was issued between the first step and the last one belongs to no step.
bool leaves_much_out(const std::vector<Steps>& phases, const StepItems& items) {
  const auto at = [&](Nanoseconds t) { return std::lower_bound(items.times_ns.begin(), items.times_ns.end(), t); };
  const auto count = [&](TimeSpan span) { return static_cast<std::size_t>(at(span.end_ns) - at(span.begin_ns)); };
  TimeSpan all = phases.front().steps.front().host;
  std::size_t inside = 0;
  for (const Steps& phase : phases) {
    all.begin_ns = std::min(all.begin_ns, phase.steps.front().host.begin_ns);
    all.end_ns = std::max(all.end_ns, phase.steps.back().host.end_ns);
    for (const Step& step : phase.steps) inside += count(step.host);
  }
  return ratio(inside, count(all)) < kNearlyAll;
}

// A loop that no stack shows, in the gaps between the steps of one that is known, and of little time there: a part of
// what that one does now and then, as the layers of a model that is tried out. What comes behind its last step is, too.
bool is_part_of_gaps(const Steps& part, const Steps& loop) {
  if (!part.name.empty() || loop.name.empty()) return false;
  Nanoseconds gaps_ns = 0;
  auto counted = loop.steps.begin();
  for (const Step& step : part.steps) {
    const auto next = std::upper_bound(loop.steps.begin(), loop.steps.end(), step.host.begin_ns,
                                       [](Nanoseconds t, const Step& one) { return t < one.host.begin_ns; });
    if (next == loop.steps.begin() || std::prev(next)->host.end_ns > step.host.begin_ns) return false;
    if (next == loop.steps.end()) continue;
    if (next->host.begin_ns < step.host.end_ns) return false;
    if (next == counted) continue;
    gaps_ns = add_saturated(gaps_ns, next->host.begin_ns - std::prev(next)->host.end_ns);
    counted = next;
  }
  return gaps_ns > 0 && ratio(time_of(part), gaps_ns) < kLittleOfGaps;
}

// The times of all steps but those of one phase, in order.
std::vector<TimeSpan> times_of_others(const Steps& given, const std::vector<Steps>& phases, const Steps& own) {
  std::vector<TimeSpan> spans;
  const auto add = [&](const Steps& phase) {
    for (const Step& step : phase.steps) spans.push_back(step.host);
  };
  add(given);
  for (const Steps& phase : phases) {
    if (&phase != &own) add(phase);
  }
  std::sort(spans.begin(), spans.end(), [](TimeSpan a, TimeSpan b) { return a.begin_ns < b.begin_ns; });
  return spans;
}

// The other phases are measured as the reported one is, so that the times of all add up.
void bring_onto_axis(const Trace& trace, const Correlation& correlation, StepPhases& phases) {
  const StepAxis axis = axis_of(correlation, phases.chosen.steps);
  for (Steps& other : phases.others) {
    if (axis_of(correlation, other.steps) == axis) continue;
    measure_steps(trace, correlation, axis, other.steps);
    judge_steps(trace, other.steps);
  }
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
  Steps given = given_steps(trace, correlation, question);
  const bool is_asked = !question.range.empty() || !question.line.empty();
  if (is_asked && given.steps.empty()) return {};
  const StepItems items = step_items(trace, correlation, given.steps);
  StepLooks looks(trace);
  std::vector<Phase> found;
  for (const FoundLoop& loop : find_loops(items, looks)) {
    Steps steps = steps_of(items, loop.steps);
    steps.micro_steps = loop.micro_steps;
    steps.is_by_log = loop.micro_steps > 1 && loop.is_by_log;
    looks.name(steps, items);
    judge(loop, steps);
    if (steps.steps.size() < kLeastSteps) continue;
    measure_steps(trace, correlation, steps);
    found.push_back({std::move(steps), work_ns_of(loop, items)});
  }
  std::vector<Steps> phases = in_order(trace, std::move(found));
  const auto is_part = [&](const Steps& one) { return is_part_of_gaps(one, phases.front()); };
  if (!phases.empty()) phases.erase(std::remove_if(phases.begin() + 1, phases.end(), is_part), phases.end());
  for (Steps& phase : phases) {
    if (looks.close_gaps(phase, times_of_others(given, phases, phase), items)) measure_steps(trace, correlation, phase);
  }
  if (given.steps.empty() && !phases.empty() && leaves_much_out(phases, items)) {
    Steps rounds = looks.rounds(items);
    if (!rounds.steps.empty()) {
      measure_steps(trace, correlation, rounds);
      phases = {std::move(rounds)};
    }
  }
  // The given steps stay first.
  if (!given.steps.empty()) {
    measure_steps(trace, correlation, given);
    phases.insert(phases.begin(), std::move(given));
  }
  if (phases.empty()) return {};
  const auto least_ns = static_cast<Nanoseconds>(kSmallestPhase.of(static_cast<double>(time_of(phases.front()))));
  std::erase_if(phases, [&](const Steps& steps) { return time_of(steps) < least_ns; });
  const std::size_t wanted = question.phase == 0 ? 0 : question.phase - 1;
  if (wanted >= phases.size()) return {{}, std::move(phases)};
  StepPhases result{std::move(phases[wanted]), {}};
  phases.erase(phases.begin() + static_cast<std::ptrdiff_t>(wanted));
  result.others = std::move(phases);
  bring_onto_axis(trace, correlation, result);
  return result;
}

}  // namespace synctrace
