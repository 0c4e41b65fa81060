// SPDX-License-Identifier: Apache-2.0
#include "support/loops/judge.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <vector>

#include "model/correlate.h"

namespace synctrace::testing::loops {
namespace {

std::size_t median(std::vector<std::size_t> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// For each of the spans, how many of the times lie in it.
std::vector<std::size_t> counts_in(const std::vector<TimeSpan>& spans, const std::vector<Nanoseconds>& times_ns) {
  const auto before = [&](Nanoseconds t) { return std::lower_bound(times_ns.begin(), times_ns.end(), t); };
  std::vector<std::size_t> counts;
  for (const TimeSpan span : spans)
    counts.push_back(static_cast<std::size_t>(before(span.end_ns) - before(span.begin_ns)));
  return counts;
}

std::size_t sum(const std::vector<std::size_t>& values) {
  std::size_t result = 0;
  for (const std::size_t value : values) result += value;
  return result;
}

std::vector<TimeSpan> spans_of(const Steps& steps) {
  std::vector<TimeSpan> spans;
  for (const Step& step : steps.steps) spans.push_back(step.host);
  return spans;
}

// A phase is found where most of its steps, and of no other phase as many, lie in what was found.
bool is_found(const LoopProgram& program, const Phase& phase, const Steps& found) {
  const std::vector<TimeSpan> spans = spans_of(found);
  const std::size_t own = sum(counts_in(spans, phase.middles_ns));
  if (own * 10 < phase.steps.size() * 7) return false;
  return std::all_of(program.phases.begin(), program.phases.end(), [&](const Phase& other) {
    return &other == &phase || sum(counts_in(spans, other.middles_ns)) < own;
  });
}

// The steps of a phase: their number within 2 (of the first and the last one edge may be unknown), with records missing
// within 2 % too, or those that are missing; and one of the phase in one that was found.
Outcome judge_steps(const LoopProgram& program, const Phase& phase, const Steps& found) {
  if (found.steps.empty()) return Outcome::kNone;
  if (!is_found(program, phase, found) && sum(counts_in(spans_of(found), phase.middles_ns)) * 2 < found.steps.size()) {
    return Outcome::kOtherPhase;
  }
  std::vector<Nanoseconds> begins;
  for (const Step& step : found.steps) begins.push_back(step.host.begin_ns);
  const std::size_t in_one = median(counts_in(spans_of(found), phase.middles_ns));
  const std::size_t for_one = median(counts_in(phase.steps, begins));
  // A step without records is found by chance.
  const std::size_t truth = phase.steps.size();
  const std::size_t few = std::max<std::size_t>(2, program.conditions.lost > 0 ? truth / 50 : 0);
  const auto is_truth = [&](std::size_t count) {
    return count <= truth + few && count + std::max(few, phase.lost_steps + 2) >= truth;
  };
  const bool says_parts = found.micro_steps > 1 && found.confidence != StepConfidence::kHigh;
  if (in_one >= 2) return says_parts && found.micro_steps == in_one ? Outcome::kBothLevels : Outcome::kMultiple;
  if (for_one >= 2) return Outcome::kFraction;
  if (!is_truth(found.steps.size())) return Outcome::kCount;
  const bool tells_passes = phase.micro_steps == 0 || found.micro_steps == phase.micro_steps;
  return tells_passes ? Outcome::kRight : Outcome::kMicroSteps;
}

}  // namespace

Judged judge(const LoopProgram& program, const StepPhases& found) {
  Nanoseconds all_ns = 0;
  Nanoseconds most_ns = 0;
  for (const Phase& phase : program.phases) {
    all_ns += phase.time_ns;
    most_ns = std::max(most_ns, phase.time_ns);
  }
  Judged judged;
  std::optional<Outcome> outcome;
  for (const Phase& phase : program.phases) {
    // If two phases took about the same time, either may be the one with the most.
    if (phase.time_ns * 4 >= most_ns * 3 && outcome != Outcome::kRight) {
      const Outcome here = judge_steps(program, phase, found.chosen);
      if (!outcome || *outcome == Outcome::kOtherPhase || here == Outcome::kRight) outcome = here;
    }
    if (phase.steps.size() < 5 || phase.time_ns * 20 < all_ns) continue;
    ++judged.phases;
    const auto finds = [&](const Steps& steps) { return is_found(program, phase, steps); };
    if (finds(found.chosen) || std::any_of(found.others.begin(), found.others.end(), finds)) ++judged.phases_found;
  }
  judged.outcome = outcome.value_or(Outcome::kNone);
  return judged;
}

namespace {

std::string steps_text(const Steps& steps) {
  return std::to_string(steps.steps.size()) + " by " + std::string(step_source_name(steps.source)) + ' ' + steps.name +
         (steps.micro_steps == 1 ? "" : " of " + std::to_string(steps.micro_steps)) + ", " +
         std::string(step_confidence_name(steps.confidence));
}

}  // namespace

std::string text_of(std::uint64_t seed, const LoopProgram& program, const StepPhases& found, const Judged& judged) {
  std::string text = "seed " + std::to_string(seed) + ": " + std::string(kOutcomes[number(judged.outcome)]) +
                     ", phases " + std::to_string(judged.phases_found) + '/' + std::to_string(judged.phases) + ": " +
                     program.kind + program.description + "\n    is:";
  for (const Phase& phase : program.phases) {
    text += ' ' + phase.name + ' ' + std::to_string(phase.steps.size());
    if (phase.micro_steps != 1) text += " of " + std::to_string(phase.micro_steps);
    text += " in " + std::to_string(phase.time_ns / 1'000'000) + " ms;";
  }
  text += "\n    found: " + steps_text(found.chosen);
  for (const Steps& other : found.others) text += "; " + steps_text(other);
  return text;
}

StepPhases steps_found(const LoopProgram& program) {
  const Correlation correlation(program.trace);
  return find_steps(program.trace, correlation);
}

void JudgedTable::add(const std::string& kind, const Judged& judged) {
  for (const std::string& row : {kind, std::string("all")}) {
    ++rows_[row][number(judged.outcome)];
    phases_[row].first += judged.phases_found;
    phases_[row].second += judged.phases;
  }
}

void JudgedTable::print() const {
  std::printf("%-14s", "");
  for (const std::string_view outcome : kOutcomes) std::printf("%12s", std::string(outcome).c_str());
  std::printf("%14s\n", "phases");
  for (const auto& [kind, counts] : rows_) {
    std::printf("%-14s", kind.c_str());
    for (const std::size_t count : counts) std::printf("%12zu", count);
    std::printf("%8zu/%zu\n", phases_.at(kind).first, phases_.at(kind).second);
  }
}

namespace {

bool same(const Steps& a, const Steps& b) {
  const auto same_step = [](const Step& x, const Step& y) {
    return x.host == y.host && x.done_ns == y.done_ns && x.length_ns == y.length_ns && x.kind == y.kind;
  };
  return a.source == b.source && a.name == b.name && a.where == b.where && a.confidence == b.confidence &&
         a.doubt == b.doubt && a.micro_steps == b.micro_steps &&
         std::equal(a.steps.begin(), a.steps.end(), b.steps.begin(), b.steps.end(), same_step);
}

bool same(const StepPhases& a, const StepPhases& b) {
  return same(a.chosen, b.chosen) && std::equal(a.others.begin(), a.others.end(), b.others.begin(), b.others.end(),
                                                [](const Steps& x, const Steps& y) { return same(x, y); });
}

}  // namespace

JudgedPrograms judge_programs(LoopProgram (*program_of)(std::uint64_t), std::uint64_t count) {
  const char* const only = std::getenv("SYNCTRACE_LOOP_SEED");
  const char* const other = only != nullptr ? only : std::getenv("SYNCTRACE_LOOP_FIRST");
  JudgedPrograms result;
  result.first = other != nullptr ? std::strtoull(other, nullptr, 10) : 1;
  result.count = only != nullptr ? 1 : static_cast<std::size_t>(count);
  for (std::uint64_t seed = result.first; seed < result.first + result.count; ++seed) {
    const LoopProgram program = program_of(seed);
    const StepPhases found = steps_found(program);
    const Judged judged = judge(program, found);
    result.table.add(program.kind, judged);
    if (!judged.is_right() || only != nullptr) std::printf("%s\n", text_of(seed, program, found, judged).c_str());
    if (seed % 8 != 0 && only == nullptr) continue;
    if (same(found, steps_found(program_of(seed)))) continue;
    ++result.different;
    std::printf("seed %llu: another answer the second time\n", static_cast<unsigned long long>(seed));
  }
  result.table.print();
  return result;
}

}  // namespace synctrace::testing::loops
