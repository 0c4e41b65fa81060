// SPDX-License-Identifier: Apache-2.0
// Loops that begin as the loop behind them does, with records missing. Chosen from three thousand random ones, for each
// rule and limit of what the last step of a run must not lack: without it the steps are miscounted.
#include <random>
#include <string>

#include "steps/steps.h"
#include "support/catch.h"
#include "support/program_by_hand.h"

namespace synctrace::testing {
namespace {

// Runs of steps, each with one of other steps behind it.
struct Loops {
  std::uint32_t seed = 0;
  int runs = 0;
  int steps = 0;       // in a run,
  int more = 0;        // and up to so many more
  int begins = 0;      // kernels with which a step begins,
  bool pairs = false;  // two of a name each
  int ends = 0;
  int others = 0;  // steps of the other loop behind a run
  int other_begins = 0;
  int other_ends = 0;
  int lost = 0;        // launches in a thousand
  bool waits = false;  // in each step, and in the last one of the other loop's runs
};

class Player {
 public:
  explicit Player(const Loops& loops) : loops_(loops), random_(loops.seed) { random_.discard(11); }

  int play() {
    int steps = 0;
    for (int run = 0; run < loops_.runs; ++run) {
      const int count = loops_.steps + static_cast<int>(random_() % static_cast<std::uint32_t>(loops_.more + 1));
      for (int i = 0; i < count; ++i) step(loops_.begins, "end", loops_.ends, loops_.waits);
      for (int i = 0; i < loops_.others; ++i)
        step(loops_.other_begins, "other", loops_.other_ends, loops_.waits && i + 1 == loops_.others);
      steps += count;
    }
    return steps;
  }
  Program& program() { return program_; }

 private:
  void step(int begins, const std::string& end, int ends, bool waits) {
    for (int k = 0; k < begins; ++k) kernel("begin" + std::to_string(loops_.pairs ? k / 2 : k));
    for (int k = 0; k < ends; ++k) kernel(end + std::to_string(k));
    if (waits) program_.wait();
  }
  void kernel(const std::string& name) {
    if (random_() % 1'000 >= static_cast<std::uint32_t>(loops_.lost)) program_.kernel(name);
  }

  const Loops& loops_;
  std::mt19937 random_;
  Program program_;
};

}  // namespace

TEST_CASE("steps before a loop that begins alike are as many as there are, with records missing") {
  const Loops all[] = {
      // What few of many last steps lack is missing by chance.
      {1261, 15, 5, 0, 9, true, 3, 2, 3, 1, 72, false},
      // What most of them lack shows another loop's begins, of six runs too.
      {795, 6, 10, 0, 4, true, 1, 3, 4, 1, 32, true},
      {823, 9, 4, 0, 8, true, 2, 3, 8, 4, 61, false},
      // Two such steps show nothing.
      {11, 15, 10, 1, 4, false, 6, 2, 2, 3, 6, true},
      // What stands before a run is not lacking: its steps are cut in their middle.
      {171, 14, 3, 2, 7, false, 6, 2, 3, 0, 55, false},
      // A shift leaves as many whole steps.
      {917, 15, 5, 0, 6, true, 6, 4, 5, 0, 77, false},
  };
  for (const Loops& loops : all) {
    CAPTURE(loops.seed);
    Player player(loops);
    const int steps = player.play();
    CHECK(static_cast<int>(player.program().steps().chosen.steps.size()) == steps);
  }
}

}  // namespace synctrace::testing
