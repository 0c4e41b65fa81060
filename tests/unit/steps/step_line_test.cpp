// SPDX-License-Identifier: Apache-2.0
// Steps by a line that the user names: each visit of the line begins one, whatever is called there.
#include "steps/step_candidates.h"
#include "support/catch.h"
#include "support/program_by_hand.h"

namespace synctrace::testing::step_line_test {
namespace {

constexpr int kPasses = 10;

std::size_t steps_at(Program& program, std::uint32_t line) {
  return steps_by_line(program.trace(), "train.py", line).steps.size();
}

}  // namespace

TEST_CASE("what a line calls belongs to its visit, however many places it launches from") {
  Program program;
  for (int i = 0; i < kPasses; ++i) {
    program.kernel("embed", program.at({{"main", 7}, {"forward", 20}}));
    program.kernel("project", program.at({{"main", 7}, {"forward", 21}}));
    program.kernel("update", program.at({{"main", 9}}));
  }
  CHECK(steps_at(program, 7) == kPasses);
}

TEST_CASE("a line that alone was seen is visited again when its first stack comes again") {
  Program program;
  const StackId first = program.at({{"main", 7}, {"forward", 20}});
  const StackId second = program.at({{"main", 7}, {"forward", 21}});
  for (int i = 0; i < kPasses; ++i) {
    program.kernel("embed", first);
    program.kernel("project", second);
  }
  CHECK(steps_at(program, 7) == kPasses);
}

TEST_CASE("a line that was seen once, or never, makes no steps") {
  Program program;
  program.kernel("embed", program.at({{"main", 7}}));
  program.kernel("update", program.at({{"main", 9}}));
  CHECK(steps_at(program, 7) == 0);
  CHECK(steps_at(program, 8) == 0);
}

}  // namespace synctrace::testing::step_line_test
