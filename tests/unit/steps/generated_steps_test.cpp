// SPDX-License-Identifier: Apache-2.0
// The steps and phases of generated programs whose loops are known (support/loops/programs.h). One program alone, with
// all that is known of it: SYNCTRACE_LOOP_SEED=n generated_steps_test; SYNCTRACE_LOOP_FIRST=n: others than the first.
// The table of all is printed each time.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "model/correlate.h"
#include "steps/steps.h"
#include "support/catch.h"
#include "support/effort.h"
#include "support/loops/programs.h"

namespace synctrace::testing::loops {
namespace {

enum class Outcome : std::uint8_t { kRight, kMultiple, kFraction, kNone, kOtherPhase, kMicroSteps, kCount };
constexpr std::array<std::string_view, 7> kOutcomes = {"right",       "multiple",    "fraction", "none",
                                                       "other phase", "micro-steps", "count"};

struct Judged {
  Outcome outcome = Outcome::kNone;
  std::size_t phases = 0;  // that ought to be found
  std::size_t phases_found = 0;
};

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
  if (in_one >= 2) return Outcome::kMultiple;
  if (for_one >= 2) return Outcome::kFraction;
  // A step without records is found by chance.
  const std::size_t truth = phase.steps.size();
  const std::size_t count = found.steps.size();
  const std::size_t few = std::max<std::size_t>(2, program.conditions.lost > 0 ? truth / 50 : 0);
  if (count > truth + few || count + std::max(few, phase.lost_steps + 2) < truth) return Outcome::kCount;
  return found.micro_steps == phase.micro_steps ? Outcome::kRight : Outcome::kMicroSteps;
}

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

std::string steps_text(const Steps& steps) {
  return std::to_string(steps.steps.size()) + " by " + std::string(step_source_name(steps.source)) + ' ' + steps.name +
         (steps.micro_steps == 1 ? "" : " of " + std::to_string(steps.micro_steps)) + ", " +
         std::string(step_confidence_name(steps.confidence));
}

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

bool same(const Steps& a, const Steps& b) {
  const auto same_step = [](const Step& x, const Step& y) {
    return x.host == y.host && x.done_ns == y.done_ns && x.length_ns == y.length_ns && x.kind == y.kind;
  };
  return a.source == b.source && a.name == b.name && a.where == b.where && a.confidence == b.confidence &&
         a.doubt == b.doubt && a.micro_steps == b.micro_steps &&
         std::equal(a.steps.begin(), a.steps.end(), b.steps.begin(), b.steps.end(), same_step);
}

StepPhases steps_found(const LoopProgram& program) {
  const Correlation correlation(program.trace);
  return find_steps(program.trace, correlation);
}

class Table {
 public:
  void add(const std::string& kind, const Judged& judged) {
    for (const std::string& row : {kind, std::string("all")}) {
      ++rows_[row][number(judged.outcome)];
      phases_[row].first += judged.phases_found;
      phases_[row].second += judged.phases;
    }
  }
  void print() const {
    std::printf("%-14s", "");
    for (const std::string_view outcome : kOutcomes) std::printf("%12s", std::string(outcome).c_str());
    std::printf("%14s\n", "phases");
    for (const auto& [kind, counts] : rows_) {
      std::printf("%-14s", kind.c_str());
      for (const std::size_t count : counts) std::printf("%12zu", count);
      std::printf("%8zu/%zu\n", phases_.at(kind).first, phases_.at(kind).second);
    }
  }
  std::size_t count(Outcome outcome) const { return rows_.at("all")[number(outcome)]; }
  std::pair<std::size_t, std::size_t> phases() const { return phases_.at("all"); }

 private:
  std::map<std::string, std::array<std::size_t, kOutcomes.size()>> rows_;
  std::map<std::string, std::pair<std::size_t, std::size_t>> phases_;
};

}  // namespace

namespace {

// A finder that knows the truth and takes `merged` steps for one, or cuts each into `pieces`, of all phases but
// `hidden`.
StepPhases told(const LoopProgram& program, std::size_t merged, std::size_t pieces, std::size_t hidden) {
  std::vector<std::pair<Nanoseconds, Steps>> all;
  for (const Phase& phase : program.phases) {
    if (&phase - program.phases.data() == static_cast<std::ptrdiff_t>(hidden)) continue;
    Steps steps;
    steps.micro_steps = phase.micro_steps;
    for (std::size_t i = 0; i + merged <= phase.steps.size(); i += merged) {
      const TimeSpan span{phase.steps[i].begin_ns, phase.steps[i + merged - 1].end_ns};
      const Nanoseconds piece_ns = span.length_ns() / static_cast<Nanoseconds>(pieces);
      for (std::size_t k = 0; k < pieces; ++k) {
        const Nanoseconds begin_ns = span.begin_ns + static_cast<Nanoseconds>(k) * piece_ns;
        steps.steps.push_back({{begin_ns, begin_ns + piece_ns}});
      }
    }
    all.emplace_back(-phase.time_ns, std::move(steps));
  }
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  StepPhases result;
  for (auto& [time, steps] : all) {
    if (result.chosen.steps.empty())
      result.chosen = std::move(steps);
    else
      result.others.push_back(std::move(steps));
  }
  return result;
}

}  // namespace

TEST_CASE("what is right, a multiple, a fraction or of another phase is judged so") {
  constexpr std::size_t kNone = 99;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    const LoopProgram program = loop_program(seed);
    const Judged right = judge(program, told(program, 1, 1, kNone));
    CHECK(right.outcome == Outcome::kRight);
    CHECK(right.phases == right.phases_found);
    CHECK(judge(program, told(program, 2, 1, kNone)).outcome == Outcome::kMultiple);
    CHECK(judge(program, told(program, 1, 3, kNone)).outcome == Outcome::kFraction);
    CHECK(judge(program, {}).outcome == Outcome::kNone);
    if (program.phases.size() == 1) continue;
    const auto longest = std::max_element(program.phases.begin(), program.phases.end(),
                                          [](const Phase& a, const Phase& b) { return a.time_ns < b.time_ns; });
    const Judged other =
        judge(program, told(program, 1, 1, static_cast<std::size_t>(longest - program.phases.begin())));
    CHECK(other.phases_found < other.phases);
    const bool alone = std::all_of(program.phases.begin(), program.phases.end(), [&](const Phase& phase) {
      return &phase == &*longest || phase.time_ns * 4 < longest->time_ns * 3;
    });
    if (alone) CHECK(other.outcome == Outcome::kOtherPhase);
  }
}

// Each was wrong without one of the finder's rules. In the test of all programs one more that is wrong hardly shows.
TEST_CASE("programs that a single rule decides") {
  constexpr std::array<std::uint32_t, 104> kSeeds = {
      185,    234,    648,    1336,   1604,   50621, 43,   100,    134,    153,    161,  171,    198,    220,    309,
      317,    393,    434,    647,    652,    721,   840,  950,    994,    1010,   1015, 1020,   1038,   1054,   1059,
      1071,   1083,   1105,   1120,   1139,   1150,  1165, 1193,   1212,   1220,   1234, 1236,   1241,   1261,   1271,
      1275,   1286,   1292,   1310,   1358,   1366,  1406, 1466,   1475,   1502,   1504, 1506,   1511,   1522,   1557,
      1561,   1606,   1614,   1627,   1636,   1642,  1667, 1707,   1843,   1937,   1939, 1983,   1993,   638,    679,
      692,    977,    1019,   1147,   262,    515,   705,  794,    995,    1619,   1845, 1876,   201454, 201686, 508,
      200030, 100227, 300003, 300340, 301978, 767,   1493, 200330, 301218, 101429, 48,   300665, 729,    1685};
  for (const std::uint64_t seed : kSeeds) {
    const LoopProgram program = loop_program(seed);
    const StepPhases found = steps_found(program);
    const Judged judged = judge(program, found);
    INFO(text_of(seed, program, found, judged));
    CHECK(judged.outcome == Outcome::kRight);
    CHECK(judged.phases_found == judged.phases);
  }
}

TEST_CASE("steps and phases of programs with known loops") {
  const char* const only = std::getenv("SYNCTRACE_LOOP_SEED");
  const char* const other = only != nullptr ? only : std::getenv("SYNCTRACE_LOOP_FIRST");
  const std::uint64_t first = other != nullptr ? std::strtoull(other, nullptr, 10) : 1;
  const std::uint64_t count = only != nullptr ? 1 : is_whole_effort() ? 2'000 : 40;
  Table table;
  std::size_t different = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const LoopProgram program = loop_program(seed);
    const StepPhases found = steps_found(program);
    const Judged judged = judge(program, found);
    table.add(program.kind, judged);
    const bool all_found = judged.phases_found == judged.phases;
    if (judged.outcome != Outcome::kRight || !all_found || only != nullptr) {
      std::printf("%s\n", text_of(seed, program, found, judged).c_str());
    }
    if (seed % 8 != 0 && only == nullptr) continue;
    // The same again, of a trace that was made again.
    const StepPhases again = steps_found(loop_program(seed));
    if (same(found.chosen, again.chosen) &&
        std::equal(found.others.begin(), found.others.end(), again.others.begin(), again.others.end(), same)) {
      continue;
    }
    ++different;
    std::printf("seed %llu: another answer the second time\n", static_cast<unsigned long long>(seed));
  }
  table.print();
  const std::size_t total = static_cast<std::size_t>(count);
  CHECK(different == 0);
  if (!is_whole_effort()) return;  // too few to say how many are right
  // Wanted: 99 % right, no multiple, half a per cent of fractions, 97 % of the phases. What is reached, by kind of
  // program, and why not more: docs/measurements/steps.md. It must not become worse.
  CHECK(table.count(Outcome::kRight) * 1'000 >= total * (first == 1 ? 990 : 985));
  CHECK(table.count(Outcome::kMultiple) <= (first == 1 ? 0 : total / 2'000));
  CHECK(table.count(Outcome::kFraction) * 200 <= total);
  CHECK(table.phases().first * 100 >= table.phases().second * 99);
}

}  // namespace synctrace::testing::loops
