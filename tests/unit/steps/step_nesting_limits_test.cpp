// SPDX-License-Identifier: Apache-2.0
// Each limit by which the finder tells a step from its layers and its halves, from both sides: a program a side, which
// only that limit decides.
#include <string>
#include <vector>

#include "steps/steps.h"
#include "support/catch.h"
#include "support/program_by_hand.h"

namespace synctrace::testing {

// A step has fifty items. Some are only in each second step, and some come once in the program.
TEST_CASE("steps of two sorts that take turns are halves of one, a little difference does not make two sorts") {
  struct Known {
    int sort = 0;
    int varied = 0;
    std::size_t steps = 0;
  };
  const Known all[] = {{4, 3, 20}, {2, 3, 40}, {3, 0, 40}, {5, 0, 20}};
  for (const Known& known : all) {
    CAPTURE(known.sort, known.varied);
    Program program;
    for (int i = 0; i < 40; ++i) {
      program.kernels("step", 49 - known.sort - known.varied);
      program.kernels(i % 2 == 0 ? "even" : "odd", known.sort);
      program.kernels("varied" + std::to_string(i) + "_", known.varied);
      program.wait();
    }
    CHECK(program.steps().chosen.steps.size() == known.steps);
  }
}

// A program of launches alone, with a kernel that comes once in so many passes.
TEST_CASE("what is seen a few times does not make layers of very many passes") {
  const int passes = GENERATE(20, 40);
  CAPTURE(passes);
  Program program;
  for (int i = 0; i < 4; ++i) {
    program.kernels("head", 10);
    for (int pass = 0; pass < passes; ++pass) program.kernels("pass", 6);
  }
  const std::size_t steps = program.steps().chosen.steps.size();
  if (passes == 20)
    CHECK(steps == 4);
  else
    CHECK(steps >= 158);
}

// Half of the time the rare kernel comes after another number of steps.
TEST_CASE("the intervals of a rare kernel make no layers of the steps between") {
  Program program;
  for (int i = 0; i < 6; ++i) {
    for (const int steps : {6, 6, 6, 12, 12, 3, 3}) {
      program.kernels("rare", 3);
      for (int step = 0; step < steps; ++step) program.kernels("step", 10);
    }
  }
  CHECK(program.steps().chosen.steps.size() >= 286);
}

// Experts read so how many tokens they got. Fewer steps do not show that the loop around such reads is the step.
TEST_CASE("reads are those of parts in 16 steps or more") {
  struct Known {
    int steps = 0;
    int parts = 0;
    bool are_parts = false;
  };
  const Known all[] = {{12, 8, false}, {24, 8, true}, {24, 90, true}};
  for (const Known& known : all) {
    CAPTURE(known.steps, known.parts);
    Program program;
    for (int i = 0; i < known.steps; ++i) {
      program.kernel("head");
      for (int part = 0; part < known.parts; ++part) {
        program.kernels("layer", 4);
        program.read();
      }
    }
    const std::size_t steps = program.steps().chosen.steps.size();
    if (known.are_parts)
      CHECK(steps == static_cast<std::size_t>(known.steps));
    else
      CHECK(steps >= static_cast<std::size_t>(known.steps * known.parts - 3));
  }
}

// These look like layers. A few of them have stacks, each at an earlier line of main() than the one before.
TEST_CASE("stacks say that a loop is the program's own where there are four or more in each coarser step") {
  const int looks = GENERATE(3, 6);
  CAPTURE(looks);
  Program program;
  for (int i = 0; i < 12; ++i) {
    program.kernel("head");
    for (int pass = 0; pass < 8; ++pass) {
      const StackId stack = pass < looks ? program.at({{"main", 9 - pass % 3}}) : StackId{};
      program.kernel("pass", stack);
      program.kernels("work", 3);
    }
  }
  const std::size_t steps = program.steps().chosen.steps.size();
  if (looks == 3)
    CHECK(steps == 12);
  else
    CHECK(steps >= 94);
}

// Each step has a kernel that is seen so often outside of the function that runs the others.
TEST_CASE("one look at what a loop launches itself does not tell that its function loops, two do") {
  const int looks = GENERATE(1, 2);
  CAPTURE(looks);
  Program program;
  const StackId first = program.at({{"generate", 30}, {"next_token", 5}});
  const StackId second = program.at({{"generate", 30}, {"next_token", 6}});
  const StackId outside = program.at({{"generate", 31}});
  for (int i = 0; i < 30; ++i) {
    program.kernels("token", 6, first);
    program.kernels("chosen", 3, second);
    program.kernel("put_behind", i % 10 == 4 && i / 10 < looks ? outside : StackId{});
    program.wait();
  }
  const Steps steps = program.steps().chosen;
  CHECK(steps.steps.size() == 30);
  CHECK(steps.name == (looks == 1 ? "next_token" : "generate"));
}

// Frameworks wrap calls in calls.
TEST_CASE("a loop is seen fifty frames deep") {
  std::vector<std::string> names;
  for (int i = 0; i < 50; ++i) names.push_back("wrapper" + std::to_string(i));
  Program program;
  const auto at = [&](std::int32_t line) {
    std::vector<Place> places;
    for (const std::string& name : names) places.push_back({name, 3});
    places.push_back({"deep", line});
    return program.at(places);
  };
  const StackId work = at(7);
  const StackId wait = at(8);
  for (int i = 0; i < 20; ++i) {
    program.kernels("step", 6, work);
    program.wait(wait);
  }
  CHECK(program.steps().chosen.name == "deep");
}

}  // namespace synctrace::testing
