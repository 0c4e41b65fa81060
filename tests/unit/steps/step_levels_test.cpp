// SPDX-License-Identifier: Apache-2.0
// Levels at which a program could be cut into steps: kinds that come in turn mark the same one.
#include "steps/step_levels.h"

#include <cstddef>
#include <string>
#include <vector>

#include "support/catch.h"
#include "support/program_by_hand.h"

namespace synctrace::testing::step_levels_test {
namespace {

// The number of steps at each level.
std::vector<std::size_t> levels_of(Program& program) {
  const Trace trace = program.trace();
  const Correlation correlation(trace);
  const StepItems items = step_items(trace, correlation, {});
  std::vector<std::size_t> counts;
  const StepLevels levels(items, items.ranges);
  for (const StepLevel& level : levels.all()) counts.push_back(level.steps.size());
  return counts;
}

}  // namespace

TEST_CASE("many kernels that come in turn are tried as one, so that what comes more rarely is tried too") {
  Program program;
  for (int epoch = 0; epoch < 5; ++epoch) {
    program.kernel("epoch");
    for (int step = 0; step < 4; ++step) program.kernels("step", 520);
  }
  CHECK(levels_of(program) == std::vector<std::size_t>{20, 5});
}

}  // namespace synctrace::testing::step_levels_test
