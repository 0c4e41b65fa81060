// SPDX-License-Identifier: Apache-2.0
// The steps of generated programs with loops in loops (support/loops/nested.h). One program alone, with all that is
// known of it: SYNCTRACE_LOOP_SEED=n nested_steps_test; SYNCTRACE_LOOP_FIRST=n: others than the first.
#include "support/catch.h"
#include "support/effort.h"
#include "support/loops/judge.h"

namespace synctrace::testing::loops {

// Each was wrong without one of the finder's rules. In the test of all programs one more that is wrong hardly shows.
TEST_CASE("programs with loops in loops that a single rule decides") {
  struct Known {
    std::uint64_t seed = 0;
    Outcome outcome = Outcome::kRight;
  };
  const Known all[] = {{1027},
                       {501488},
                       {501533},  // what ran before the read before tells reads apart
                       {501643},
                       {1942},  // parts that hardly differ, each time by the same
                       {500817},
                       {1201077},  // records are missing of many of the steps
                       {1201367},  // other names are no work of a log line
                       {1201702, Outcome::kBothLevels},
                       {900878, Outcome::kBothLevels}};  // steps of a log line
  for (const Known& known : all) {
    const LoopProgram program = nested_program(known.seed);
    const StepPhases found = steps_found(program);
    const Judged judged = judge(program, found);
    INFO(text_of(known.seed, program, found, judged));
    CHECK(judged.outcome == known.outcome);
  }
}

TEST_CASE("steps of programs with loops in loops") {
  const JudgedPrograms all = judge_programs(nested_program, is_whole_effort() ? 2'000 : 40);
  CHECK(all.different == 0);
  if (!is_whole_effort()) return;  // too few to say how many are right
  // What is reached, by kind of program: docs/measurements/steps.md. It must not become worse.
  CHECK(all.table.count(Outcome::kRight) * 1'000 >= all.count * (all.first == 1 ? 990 : 985));
  CHECK(all.table.count(Outcome::kBothLevels) * 100 <= all.count * 3);
  CHECK(all.table.count(Outcome::kMultiple) <= (all.first == 1 ? 0 : all.count / 1'000));
}

}  // namespace synctrace::testing::loops
