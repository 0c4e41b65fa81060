// SPDX-License-Identifier: Apache-2.0
// The steps of generated programs with loops in loops (support/loops/nested.h). One program alone, with all that is
// known of it: SYNCTRACE_LOOP_SEED=n nested_steps_test; SYNCTRACE_LOOP_FIRST=n: others than the first.
#include "support/catch.h"
#include "support/effort.h"
#include "support/loops/judge.h"

namespace synctrace::testing::loops {

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
