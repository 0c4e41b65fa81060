// SPDX-License-Identifier: Apache-2.0
// Rounds of a loop by stacks alone, where most of what shows them has no stack: others at the same place stand for it.
#include <cstddef>
#include <vector>

#include "steps/step_items.h"
#include "steps/step_looks.h"
#include "support/catch.h"
#include "support/program_by_hand.h"

namespace synctrace::testing::step_rounds_test {
namespace {

constexpr int kRounds = 40;

// Each round runs four kernels and waits. So many waits are seen at line 6, and then so many at line 9.
std::size_t rounds_found(int seen, int seen_elsewhere) {
  Program program;
  const StackId place = program.at({{"main", 6}});
  const StackId elsewhere = program.at({{"main", 9}});
  for (int i = 0; i < kRounds; ++i) {
    program.kernels("round", 4);
    program.wait(i < seen ? place : i < seen + seen_elsewhere ? elsewhere : StackId{});
  }
  Trace trace = program.trace();
  // From 3.12 on a line table would have to show the jump back.
  for (auto& [id, code] : trace.codes) code.python_version = 0x030b0000;
  const Correlation correlation(trace);
  return StepLooks(trace).rounds(step_items(trace, correlation, {})).steps.size();
}

}  // namespace

TEST_CASE("two waits that are seen stand for those behind the same kernels, one does not") {
  CHECK(rounds_found(1, 0) == 0);
  CHECK(rounds_found(2, 0) == kRounds);
  CHECK(rounds_found(kRounds, 0) == kRounds);
}

TEST_CASE("waits that are seen at two lines stand for others where four in five are at one") {
  CHECK(rounds_found(3, 1) == 0);
  CHECK(rounds_found(4, 1) == kRounds - 1);  // from line 6 to line 9 nothing goes back
}

}  // namespace synctrace::testing::step_rounds_test
