// SPDX-License-Identifier: Apache-2.0
// The recording as parts that add up to it, whatever the steps.
#include "steps/run_times.h"

#include <random>

#include "support/catch.h"

namespace synctrace::testing::run_times_test {
namespace {

Steps steps_at(const std::vector<Nanoseconds>& begins, Nanoseconds length_ns = 10) {
  Steps steps;
  for (const Nanoseconds begin_ns : begins) {
    Step& step = steps.steps.emplace_back();
    step.host = {begin_ns, begin_ns + length_ns};
    step.from_ns = begin_ns;
    step.length_ns = length_ns;
  }
  return steps;
}

}  // namespace

TEST_CASE("each part of a recording is where its steps are") {
  Steps training = steps_at({20, 30, 40, 100, 110});
  training.steps[0].kind = StepKind::kWarmUp;
  training.steps[3].kind = StepKind::kIrregular;
  std::vector<Steps> others = {steps_at({60, 70})};
  others[0].steps[0].kind = StepKind::kWarmUp;
  const RunTimes times = run_times(training, others, {5, 127});
  CHECK(times == RunTimes{15, 20, 30, 10, 10, 30, 7});
  CHECK(times.sum() == 122);
}

TEST_CASE("a recording without steps lies before them") {
  Steps none;
  std::vector<Steps> others;
  CHECK(run_times(none, others, {5, 127}) == RunTimes{.before_ns = 122});
}

TEST_CASE("a step begins when the one before has ended, and lies in the recording") {
  Steps training = steps_at({0, 15}, 20);
  std::vector<Steps> others = {steps_at({10}, 4)};
  const RunTimes times = run_times(training, others, {5, 30});
  CHECK(training.steps[0].from_ns == 5);
  CHECK(training.steps[0].length_ns == 15);
  CHECK(others[0].steps[0].length_ns == 0);
  CHECK(training.steps[1].from_ns == 20);
  CHECK(training.steps[1].length_ns == 10);
  CHECK(times == RunTimes{.ordinary_ns = 25});
}

TEST_CASE("the parts add up however steps overlap") {
  std::mt19937_64 random(7);
  const auto any = [&](Nanoseconds most) {
    return static_cast<Nanoseconds>(random() % static_cast<std::uint64_t>(most));
  };
  for (int round = 0; round < 2'000; ++round) {
    const TimeSpan recording{any(300), 300 + any(700)};
    std::vector<Steps> phases(3);
    for (Steps& phase : phases) {
      for (Nanoseconds i = any(6); i > 0; --i) {
        Step& step = phase.steps.emplace_back();
        step.host.begin_ns = any(1'000);
        step.from_ns = any(1'000);
        step.length_ns = any(400);
        step.kind = static_cast<StepKind>(1 + any(3));
      }
    }
    Steps reported = std::move(phases.back());
    phases.pop_back();
    CAPTURE(round);
    REQUIRE(run_times(reported, phases, recording).sum() == recording.length_ns());
  }
}

}  // namespace synctrace::testing::run_times_test
