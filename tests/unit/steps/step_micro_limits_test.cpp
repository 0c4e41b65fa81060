// SPDX-License-Identifier: Apache-2.0
// Each limit by which the finder tells a step from its micro-batches, from both sides: a program a side, which only
// that limit decides.
#include <string>

#include "steps/steps.h"
#include "support/catch.h"
#include "support/program_by_hand.h"

namespace synctrace::testing {
namespace {

// Batches, and behind a few of them an optimizer's work that no name tells.
struct Groups {
  int groups = 12;
  int updates = 3;    // kernels
  bool logs = false;  // a number is read with it
  int other = 0;      // kernels of a pass of another loop, which runs three times in each group
  int shared = 0;     // a batch's kernels among these

  Steps found() const {
    Program program;
    for (int i = 0; i < groups; ++i) {
      for (int batch = 0; batch < 4; ++batch) {
        program.kernels("batch", 10);
        program.wait();
      }
      program.kernels("update", updates);
      for (int pass = 0; pass < 3 && other > 0; ++pass) {
        program.kernels("batch", shared);
        program.kernels("other", other - shared);
      }
      if (logs) program.read();
    }
    return program.steps().chosen;
  }
};

}  // namespace

TEST_CASE("what is done once in several batches makes them micro-batches, seen eight times or more") {
  const int groups = GENERATE(6, 12);
  CAPTURE(groups);
  const Steps steps = Groups{.groups = groups}.found();
  const bool are_micro = groups == 12;
  CHECK(steps.micro_steps == (are_micro ? 4 : 1));
  CHECK(steps.steps.size() == static_cast<std::size_t>(are_micro ? groups : groups * 4));
}

TEST_CASE("a log line with kernels of its own makes no micro-batches, an optimizer's work that is logged does") {
  const int updates = GENERATE(5, 6, 10, 14);
  CAPTURE(updates);
  const Steps steps = Groups{.updates = updates, .logs = true}.found();
  CHECK(steps.micro_steps == (updates >= 8 ? 4 : 1));
}

TEST_CASE("another loop of eight kinds between batches makes no micro-batches of them") {
  struct Known {
    int other = 0;
    int shared = 0;
    std::size_t micro_steps = 0;
  };
  const Known all[] = {{6, 0, 4}, {12, 0, 1}, {12, 6, 1}};
  for (const Known& known : all) {
    CAPTURE(known.other, known.shared);
    const Steps steps = Groups{.logs = true, .other = known.other, .shared = known.shared}.found();
    CHECK(steps.micro_steps == known.micro_steps);
  }
}

TEST_CASE("an optimizer ends a step however many batches went before it") {
  const int most = GENERATE(4, 6);  // in half of the steps, or in each fifth
  CAPTURE(most);
  Program program;
  for (int i = 0; i < 60; ++i) {
    const int batches = most == 4 ? (i % 2 == 0 ? 4 : 3) : 2 + i * 7 % 5;
    for (int batch = 0; batch < batches; ++batch) {
      program.kernels("batch", 40);
      program.wait();
    }
    program.kernels("adam", 3);
  }
  const Steps steps = program.steps().chosen;
  CHECK(steps.steps.size() == 60);
  CHECK(steps.micro_steps == 1);
}

// Three steps of one sort follow two of another, with 17 of 21 items in common.
TEST_CASE("batches of another sort are no other loop") {
  Program program;
  for (int i = 0; i < 12; ++i) {
    for (int batch = 0; batch < 5; ++batch) {
      program.kernels(batch < 3 ? "short" : "long", 4);
      program.kernels("batch", 16);
      program.wait();
    }
    program.kernels("update", 10);
    program.read();
  }
  CHECK(program.steps().chosen.micro_steps == 5);
}

TEST_CASE("a step has 64 micro-batches at the most") {
  const int batches = GENERATE(50, 90);
  CAPTURE(batches);
  Program program;
  for (int i = 0; i < 10; ++i) {
    for (int batch = 0; batch < batches; ++batch) {
      program.kernels("batch", 2);
      program.wait();
    }
    program.kernels("update", 3);
  }
  CHECK(program.steps().chosen.micro_steps == (batches == 50 ? 50 : 1));
}

// A step clips gradients beside its optimizer's work; its batches do not.
TEST_CASE("batches are micro-batches where the host gives or takes something in nearly each and they are half of it") {
  struct Known {
    int in_twenty = 0;
    int clips = 0;  // kernels beside the forty of the batches
    std::size_t micro_steps = 0;
  };
  const Known known = GENERATE(Known{12, 6, 1}, Known{17, 6, 4}, Known{17, 26, 4}, Known{17, 60, 1});
  const auto [in_twenty, clips, micro_steps] = known;
  CAPTURE(in_twenty, clips);
  Program program;
  std::uint64_t reads = 0;  // with five sizes, so that none of them marks the batches
  for (int i = 0; i < 30; ++i) {
    for (int batch = 0; batch < 4; ++batch) {
      program.kernels("batch", 10);
      if ((i * 4 + batch) * in_twenty % 20 < in_twenty) program.read(std::uint64_t{16} << reads++ % 5 * 2);
    }
    for (int k = 0; k < clips; ++k) program.kernel("clip" + std::to_string(k % 3));
    program.kernel("adam");
  }
  const Steps steps = program.steps().chosen;
  CHECK(steps.steps.size() >= 29);
  CHECK(steps.steps.size() <= 30);
  CHECK(steps.micro_steps == micro_steps);
}

// Clipping is too much of a step for the batches to be all of it. The line that goes back tells that they are a loop.
TEST_CASE("batches are micro-batches where stacks show their loop, beside more work than an optimizer's") {
  const bool has_stacks = GENERATE(false, true);
  CAPTURE(has_stacks);
  Program program;
  const auto at = [&](std::int32_t line) { return has_stacks ? program.at({{"main", line}}) : StackId{}; };
  for (int i = 0; i < 20; ++i) {
    for (int batch = 0; batch < 4; ++batch) {
      program.kernels("forward", 10, at(10));
      program.kernels("backward", 10, at(12));
    }
    program.kernels("clip", 6, at(14));
    program.kernel("adam", at(16));
  }
  const Steps steps = program.steps().chosen;
  CHECK(steps.steps.size() == 20);
  CHECK(steps.micro_steps == (has_stacks ? 4 : 1));
}

// Several answers of a model are judged, and then learnt from at once.
TEST_CASE("passes without a backward pass are no micro-batches of a step that has one") {
  const ThreadId backward = GENERATE(kMain, kWorker);
  CAPTURE(backward == kWorker);
  Program program;
  for (int i = 0; i < 20; ++i) {
    for (int pass = 0; pass < 4; ++pass) {
      program.kernels("forward", 10);
      program.wait();
    }
    program.kernels("backward", 10, {}, backward);
    program.kernel("adam");
  }
  CHECK(program.steps().chosen.micro_steps == (backward == kWorker ? 1 : 4));
}

// A recording of level syncs has no kernels: copies of a batch, and a value that is read behind ten of them.
TEST_CASE("copies at even times may be steps between logged lines, copies at once are one batch") {
  const auto [between_us, behind_us, times] =
      GENERATE(table<int, int, int>({{700, 700, 10}, {5, 7000, 1}, {100, 2000, 1}, {200, 1000, 10}}));
  CAPTURE(between_us);
  Program program;
  const StackId copies = program.at({{"main", 20}, {"step", 31}}), reads = program.at({{"main", 22}, {"read", 38}});
  for (int line = 0; line < 12; ++line) {
    for (int copy = 0; copy < 10; ++copy) {
      program.upload(1 << 20, copies);
      program.pass((copy == 4 ? behind_us : between_us) * kUs);
    }
    program.wait(reads);
  }
  const Steps steps = program.steps().chosen;
  CHECK(steps.micro_steps == static_cast<std::size_t>(times));
  CHECK(steps.is_by_log == (times > 1));
  CHECK((steps.doubt == "each may be 10 steps, of which the last logs a line") == (times > 1));
}

}  // namespace synctrace::testing
