// SPDX-License-Identifier: Apache-2.0
// Each limit by which the finder takes a level for the steps, says how sure it is, and lists other phases, from both
// sides: a program a side, which only that limit decides.
#include <string>

#include "steps/steps.h"
#include "support/catch.h"
#include "support/program_by_hand.h"

namespace synctrace::testing::step_search_limits_test {
namespace {

// Adds work that comes once in the program.
void once(Program& program, int count) {
  static int next = 0;
  for (int i = 0; i < count; ++i) program.kernel("once" + std::to_string(next++));
}

}  // namespace

// Each loop runs a kernel of its own.
TEST_CASE("two loops in turn are two where they come in runs of three or more") {
  const int run = GENERATE(2, 3, 5);
  CAPTURE(run);
  Program program;
  for (int i = 0; i < 60; ++i) {
    program.kernels("both", 10);
    program.kernel(i / run % 2 == 0 ? "first" : "second");
    program.wait();
  }
  const StepPhases found = program.steps();
  CHECK(found.chosen.steps.size() == (run == 2 ? 60 : 30));
  CHECK(found.others.size() == (run == 2 ? 0 : 1));
}

// Runs of eight and of four steps follow each other, each behind other work. One step of every fourth run lacks the
// record of its own kernel.
TEST_CASE("a step that shows neither loop's kernel is of the loop whose steps it is among") {
  const int lacking = GENERATE(0, 3);  // the step in its run: the first has none before it
  CAPTURE(lacking);
  Program program;
  for (int run = 0; run < 24; ++run) {
    const bool is_first = run % 2 == 0;
    once(program, 7);
    for (int i = 0; i < (is_first ? 8 : 4); ++i) {
      program.kernels("both", 10);
      if (run % 4 != 0 || i != lacking) program.kernel(is_first ? "first" : "second");
      program.wait();
    }
  }
  const StepPhases found = program.steps();
  CHECK(found.chosen.steps.size() == 96);
  REQUIRE(found.others.size() == 1);
  CHECK(found.others.front().steps.size() == 48);
}

// Two loops of nine and of ten kernels share six of them. Only one gives something back.
TEST_CASE("two loops of as many steps are two levels, though they have three fifths in common") {
  Program program;
  for (int i = 0; i < 240; ++i) {
    const bool is_first = i < 120;
    program.kernels("both", 6);
    program.kernels(is_first ? "first" : "second", is_first ? 3 : 4);
    if (!is_first) program.read();
  }
  const StepPhases found = program.steps();
  CHECK(found.chosen.steps.size() == 120);
  REQUIRE(found.others.size() == 1);
  CHECK(found.others.front().steps.size() == 120);
}

TEST_CASE("a phase has a fiftieth of the first one's time") {
  const int kernels = GENERATE(2, 6);  // in ten steps: 1 % and 3 %
  CAPTURE(kernels);
  Program program;
  for (int i = 0; i < 100; ++i) {
    program.kernels("step", 20);
    program.wait();
  }
  once(program, 3);
  for (int i = 0; i < 10; ++i) {
    program.kernels("other", kernels);
    program.wait();
  }
  CHECK(program.steps().others.size() == (kernels == 6 ? 1 : 0));
}

// Parameters are moved before the loop, and losses are read one by one in each step.
TEST_CASE("copies and waits without a kernel are no phase and no steps") {
  Program program;
  for (int i = 0; i < 100; ++i) {
    program.read();
    program.wait();
  }
  for (int i = 0; i < 20; ++i) {
    program.kernels("step", 12);
    for (int loss = 0; loss < 6; ++loss) {
      program.read();
      program.wait();
    }
  }
  const StepPhases found = program.steps();
  CHECK(found.chosen.steps.size() == 20);
  CHECK(found.chosen.micro_steps == 1);
  CHECK(found.others.empty());
}

TEST_CASE("six loops are six phases") {
  Program program;
  for (int loop = 0; loop < 6; ++loop) {
    for (int i = 0; i < 20; ++i) {
      program.kernels("loop" + std::to_string(loop) + "_", 8 + loop);
      program.wait();
    }
    once(program, 5);
  }
  const StepPhases found = program.steps();
  CHECK(found.chosen.steps.size() == 20);
  CHECK(found.others.size() == 5);
}

// The copies have many sizes, so that none of them marks the steps.
TEST_CASE("steps are sure where the host gives or takes something in four of five") {
  const int in_twenty = GENERATE(12, 17);
  CAPTURE(in_twenty);
  Program program;
  std::uint64_t reads = 0;
  for (int i = 0; i < 40; ++i) {
    program.kernels("step", 10);
    if ((i + 1) * in_twenty % 20 < in_twenty) program.read(std::uint64_t{16} << reads++ % 5 * 2);
  }
  const Steps steps = program.steps().chosen;
  CHECK(steps.steps.size() == 40);
  CHECK(steps.confidence == (in_twenty == 17 ? StepConfidence::kHigh : StepConfidence::kLow));
}

// The host waits once in six passes.
TEST_CASE("a pass of four launches is a step if they are of three kinds") {
  const int kinds = GENERATE(2, 3);
  CAPTURE(kinds);
  Program program;
  for (int i = 0; i < 20; ++i) {
    for (int pass = 0; pass < 6; ++pass) {
      program.kernel("first");
      for (int k = 1; k < 4; ++k) program.kernel(k == 1 && kinds == 3 ? "second" : "last");
    }
    program.wait();
  }
  const std::size_t steps = program.steps().chosen.steps.size();
  if (kinds == 2)
    CHECK(steps == 20);
  else
    CHECK(steps >= 118);
}

// A recording of level syncs of a job: the copies of six buckets in each step, and a value that is read.
TEST_CASE("a library's copies within a step are no steps where no kernels were recorded") {
  Program program;
  const StackId copies = program.native(), reads = program.at({{"train", 31}});
  for (int step = 0; step < 40; ++step) {
    for (int bucket = 0; bucket < 6; ++bucket) {
      for (const std::uint64_t bytes : {1U << 22, 1U << 20, 1U << 12}) {
        program.copy(CopyKind::kDeviceToDevice, bytes, copies);
        program.copy(CopyKind::kDeviceToDevice, bytes, copies);
      }
    }
    program.wait(reads);
  }
  CHECK(program.steps().chosen.steps.size() == 40);
}

}  // namespace synctrace::testing::step_search_limits_test
