// SPDX-License-Identifier: Apache-2.0
// The steps and phases of generated programs whose loops are known (support/loops/programs.h). One program alone, with
// all that is known of it: SYNCTRACE_LOOP_SEED=n generated_steps_test; SYNCTRACE_LOOP_FIRST=n: others than the first.
// The table of all is printed each time.
#include <algorithm>
#include <array>
#include <vector>

#include "support/catch.h"
#include "support/effort.h"
#include "support/loops/judge.h"

namespace synctrace::testing::loops {
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
  constexpr std::array<std::uint32_t, 108> kSeeds = {
      100349, 100898, 101198, 101755, 185,    234,    648,  1336,   1604,   50621, 43,     100,    134,    153,
      161,    171,    198,    220,    309,    317,    393,  434,    647,    652,   721,    840,    950,    994,
      1010,   1015,   1020,   1038,   1054,   1059,   1071, 1083,   1105,   1120,  1139,   1150,   1165,   1193,
      1212,   1220,   1234,   1236,   1241,   1261,   1271, 1275,   1286,   1292,  1310,   1358,   1366,   1406,
      1466,   1475,   1502,   1504,   1506,   1511,   1522, 1557,   1561,   1606,  1614,   1627,   1636,   1642,
      1667,   1707,   1843,   1937,   1939,   1983,   1993, 638,    679,    692,   977,    1019,   1147,   262,
      515,    705,    794,    995,    1619,   1845,   1876, 201454, 201686, 508,   200030, 100227, 300003, 300340,
      301978, 767,    1493,   200330, 301218, 101429, 48,   300665, 729,    1685};
  for (const std::uint64_t seed : kSeeds) {
    const LoopProgram program = loop_program(seed);
    const StepPhases found = steps_found(program);
    const Judged judged = judge(program, found);
    INFO(text_of(seed, program, found, judged));
    CHECK(judged.is_right());
  }
}

TEST_CASE("steps and phases of programs with known loops") {
  const JudgedPrograms all = judge_programs(loop_program, is_whole_effort() ? 2'000 : 40);
  CHECK(all.different == 0);
  if (!is_whole_effort()) return;  // too few to say how many are right
  // Wanted: 99 % right, no multiple, half a per cent of fractions, 97 % of the phases. What is reached, by kind of
  // program, and why not more: docs/measurements/steps.md. It must not become worse.
  CHECK(all.table.count(Outcome::kRight) * 1'000 >= all.count * (all.first == 1 ? 990 : 985));
  CHECK(all.table.count(Outcome::kMultiple) <= (all.first == 1 ? 0 : all.count / 2'000));
  CHECK(all.table.count(Outcome::kFraction) * 200 <= all.count);
  CHECK(all.table.phases().first * 100 >= all.table.phases().second * 99);
}

}  // namespace synctrace::testing::loops
