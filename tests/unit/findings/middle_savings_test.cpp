// SPDX-License-Identifier: Apache-2.0
// Savings of a long run, of which only the middle is run again: they are those of the whole, of the same steps.
#include "findings/middle_savings.h"

#include <cmath>

#include "model/excerpt.h"
#include "support/catch.h"
#include "support/generated_support.h"
#include "support/replay_support.h"

namespace synctrace::testing::generator::middle_savings_test {
namespace {

constexpr std::uint32_t kSteps = 120;

// A wait in each step; before step `hole` the host does something else for long.
Program waiting_loop(std::uint32_t hole) {
  Program program;
  program.stream_devices = {0};
  for (std::uint32_t line = 1; line <= 4; ++line) program.places.push_back({0, line});
  std::vector<Action> script;
  for (std::uint32_t step = 0; step < kSteps; ++step) {
    script.push_back({Act::kStep, 0});
    if (step == hole) script.push_back({Act::kCompute, 3, 300'000'000});
    for (int i = 0; i < 4; ++i) script.push_back({Act::kLaunch, 0, 0, 300'000});
    script.push_back({Act::kStreamSync, 1});
    script.push_back({Act::kCompute, 2, 800'000});
  }
  program.threads = {script};
  return program;
}

double share(const WhatIf& found) { return static_cast<double>(found.all.ns) / static_cast<double>(found.base_ns); }

WhatIf of_half(const Trace& trace, const Attribution& attribution) {
  Nanoseconds looked_at_ns = 0;
  WhatIf found = what_if_of_middle(trace, attribution, same_place, {}, rows_of(trace) / 2, looked_at_ns);
  CHECK(looked_at_ns < trace.last_ns - trace.first_ns);
  REQUIRE(found.refusal == "");
  REQUIRE(found.by_steps);
  return found;
}

}  // namespace

TEST_CASE("the middle of a long run stands for its ordinary steps, with a hole in it or outside of it") {
  for (const std::uint32_t hole : {kSteps, kSteps / 2, kSteps / 10}) {
    CAPTURE(hole);
    const Program program = waiting_loop(hole);
    const Trace trace = of_real_recorder(load_generated(program, play(program, 1)));
    const Attribution attribution = attribute(trace);
    const WhatIf whole = what_if(attribution, same_place);
    const WhatIf half = of_half(trace, attribution);
    CHECK(half.steps == whole.steps);
    CHECK(half.base_lo_ns < half.base_ns);
    CHECK(half.base_ns < half.base_hi_ns);
    CHECK(std::abs(half.base_lo_ns - whole.base_lo_ns) <= 10'000);
    CHECK(std::abs(half.base_hi_ns - whole.base_hi_ns) <= 10'000);
    CHECK(std::abs(half.recorded_ns - whole.recorded_ns) <= 1'000);
    CHECK(std::abs(share(half) - share(whole)) < 0.01);
    CHECK(share(whole) > 0.2);
  }
}

TEST_CASE("the middle has the steps of the whole, not others that could be found in it") {
  // By turns ten steps with a wait and ten of a validation, whose host never waits.
  Program program = waiting_loop(kSteps);
  std::vector<Action>& script = program.threads.front();
  std::uint32_t begun = 0;
  std::erase_if(script, [&](const Action& action) {
    if (action.act == Act::kStep) ++begun;
    return (begun - 1) / 10 % 2 == 1 && action.act == Act::kStreamSync;
  });
  const Trace trace = load_generated(program, play(program, 1));
  Steps training = attribute(trace).steps;
  REQUIRE(training.steps.size() == kSteps);
  for (std::size_t i = kSteps; i-- > 0;) {
    training.steps[i].kind = StepKind::kSteady;
    if (i / 10 % 2 == 1) training.steps.erase(training.steps.begin() + static_cast<std::ptrdiff_t>(i));
  }
  AttributeOptions options;
  options.known_steps = &training;
  const Attribution attribution = attribute(trace, options);
  const WhatIf whole = what_if(attribution, same_place);
  const WhatIf half = of_half(trace, attribution);
  CHECK(half.steps == kSteps / 2);
  CHECK(std::abs(share(half) - share(whole)) < 0.02);
}

}  // namespace synctrace::testing::generator::middle_savings_test
