// SPDX-License-Identifier: Apache-2.0
// Savings are those of ordinary steps: a hole, or what lies between two steps, is run and not counted.
#include <cmath>

#include "steps/step_lengths.h"
#include "support/catch.h"
#include "support/generated_support.h"
#include "support/replay_support.h"
#include "whatif/evaluate.h"
#include "whatif/what_if.h"

namespace synctrace::testing::generator::ordinary_steps_test {
namespace {

std::uint16_t wait_site(const WhatIf& result, std::uint32_t place) {
  return result.find(fix_key_of_cause(CauseKind::kStreamSync, same_place(stack_of_place(place)), {}, {}, {}));
}

constexpr Nanoseconds kHoleNs = 400'000'000;

// Steps of 2 ms in which a wait leaves the GPU without work, by turns for a little more or less. Before step `hole` the
// host does something else, once; a step of the loader's in `starved` comes late.
Program waiting_loop(std::size_t steps, std::size_t hole, std::size_t starved) {
  Program program;
  program.machine.host_jitter_percent = 3;
  program.stream_devices = {0};
  for (std::uint32_t line = 1; line <= 5; ++line) program.places.push_back({0, line});
  std::vector<Action> script;
  for (std::size_t step = 0; step < steps; ++step) {
    script.push_back({Act::kStep, 0});
    if (step == hole) script.push_back({Act::kCompute, 4, kHoleNs});
    if (starved != 0 && step % starved == starved - 1) script.push_back({Act::kCompute, 3, 20'000'000});
    for (int i = 0; i < 4; ++i) script.push_back({Act::kLaunch, 0, 0, 300'000});
    script.push_back({Act::kStreamSync, 1});
    script.push_back({Act::kCompute, 2, 800'000});
  }
  program.threads = {script};
  return program;
}

struct Shares {
  double ns, lo, hi;
};

Shares shares_of(const WhatIf& found, const Interval& interval) {
  const auto share = [&](Nanoseconds ns) { return 100 * static_cast<double>(ns) / static_cast<double>(found.base_ns); };
  return {share(interval.ns), share(interval.lo_ns), share(interval.hi_ns)};
}

// With steps of its own, or those that are known.
WhatIf answer_of(const Trace& trace, const Steps* known = nullptr) {
  AttributeOptions options;
  options.known_steps = known;
  const Attribution attribution = attribute(trace, options);
  REQUIRE(attribution.breaches.empty());
  WhatIf found = what_if(attribution, same_place);
  REQUIRE(found.refusal == "");
  REQUIRE(found.by_steps);
  return found;
}

void check_alike(Shares a, Shares b, double margin = 1) {
  CHECK(std::abs(a.ns - b.ns) < 1);
  CHECK(std::abs(a.lo - b.lo) < margin);
  CHECK(std::abs(a.hi - b.hi) < margin);
}

}  // namespace

TEST_CASE("one long hole changes neither the savings of the other steps nor their intervals") {
  constexpr std::size_t kNone = 1'000;
  for (const std::size_t hole : {std::size_t{30}, std::size_t{70}}) {
    CAPTURE(hole);
    const Program even = waiting_loop(100, kNone, 0);
    const Program uneven = waiting_loop(100, hole, 0);
    const Trace even_trace = load_generated(even, play(even, 1));
    const Trace uneven_trace = load_generated(uneven, play(uneven, 1));
    const WhatIf without = answer_of(even_trace);
    const WhatIf with = answer_of(uneven_trace);
    CHECK(with.steps + 6 > without.steps);
    CHECK(with.base_ns < 100 * 3'000'000);
    REQUIRE(without.all.grade == Grade::kHigh);
    CHECK(with.all.grade == Grade::kHigh);
    check_alike(shares_of(without, without.all), shares_of(with, with.all));
    const Saving* alone = with.of_site(wait_site(with, 1));
    REQUIRE(alone != nullptr);
    check_alike(shares_of(without, without.of_site(wait_site(without, 1))->alone), shares_of(with, alone->alone));
  }
}

TEST_CASE("where every eighth step is long, what shortens these is sure") {
  const Program program = waiting_loop(96, 1'000, 8);
  const Trace trace = load_generated(program, play(program, 1));
  const WhatIf found = answer_of(trace);
  CHECK(found.steps > 80);  // the long ones among them
  const Shares all = shares_of(found, found.all);
  CHECK(all.ns > 50);
  CHECK(all.hi - all.lo < 10);
}

TEST_CASE("idle time before a step that begins anew belongs to it only from its begin on") {
  const Program program = waiting_loop(60, 30, 0);
  const Trace trace = load_generated(program, play(program, 1));
  Steps steps = attribute(trace).steps;
  REQUIRE(steps.steps.size() == 60);
  steps.steps[30].host.begin_ns += kHoleNs / 2;  // the first half of the hole is a checkpoint, say
  for (Step& step : steps.steps) step.kind = StepKind::kSteady;
  AttributeOptions options;
  options.known_steps = &steps;
  const Attribution attribution = attribute(trace, options);
  Nanoseconds steady_ns = 0;
  for (const Cause& cause : attribution.causes.begin()->second) steady_ns += cause.steady_ns;
  CHECK(attribution.steps.steps[30].length_ns < kHoleNs * 6 / 10);
  CHECK(steady_ns > kHoleNs * 4 / 10);
  CHECK(steady_ns < kHoleNs * 9 / 10);
  CHECK(answer_of(trace, &steps).recorded_ns > steady_ns);
}

TEST_CASE("what lies between steps is run, and not counted") {
  const Program program = waiting_loop(60, 30, 0);
  const Trace trace = load_generated(program, play(program, 1));
  Steps steps = attribute(trace).steps;
  REQUIRE(steps.steps.size() == 60);
  const WhatIf without = answer_of(trace, &steps);
  // Step 30 is no step: it is a validation, say. The others are ordinary.
  for (Step& step : steps.steps) step.kind = StepKind::kSteady;
  steps.steps.erase(steps.steps.begin() + 30);
  AttributeOptions options;
  options.known_steps = &steps;
  const Attribution attribution = attribute(trace, options);
  CHECK(begins_anew(attribution.steps.steps, 30));
  Nanoseconds steps_ns = 0;
  Nanoseconds steady_ns = 0;
  Nanoseconds all_ns = 0;
  for (const Step& step : attribution.steps.steps) steps_ns += step.length_ns;
  for (const Cause& cause : attribution.causes.begin()->second) {
    steady_ns += cause.steady_ns;
    all_ns += cause.idle_ns;
    CHECK(cause.irregular_ns == 0);
  }
  CHECK(steps_ns < 60 * 3'000'000);
  CHECK(steady_ns < steps_ns);
  CHECK(all_ns > kHoleNs);
  const WhatIf with = answer_of(trace, &steps);
  CHECK(with.steps == 59);
  CHECK(with.recorded_ns == steps_ns);
  // The step behind the gap has no wait's cost before it: one in 59 that gains nothing.
  check_alike(shares_of(without, without.all), shares_of(with, with.all), 2.5);
}

TEST_CASE("steps are counted where there are enough of them and each issued work") {
  ReplayProgram program;
  program.sites.resize(1);
  program.thread_begins = {0};
  for (int i = 0; i < 5; ++i) program.events.add<StepEvent>(0, 0);
  const auto by_steps = [&](std::size_t count, Nanoseconds last_done_ns) {
    Steps steps;
    steps.steps.resize(count);
    for (Step& step : steps.steps) step.done_ns = 1;
    steps.steps.back().done_ns = last_done_ns;
    return Evaluator(program, steps).by_steps();
  };
  CHECK(by_steps(4, 1));
  CHECK(!by_steps(3, 1));
  CHECK(!by_steps(4, 0));
}

TEST_CASE("no step saves more than it takes, not even the pause before it") {
  constexpr Nanoseconds kPauseNs = 20'000'000'000;
  ReplayProgram program;
  program.sites.resize(2);
  program.sites[1].fix = Fix::kDropCall;
  program.thread_begins = {0};
  program.streams.resize(1);
  program.devices = 1;
  Steps steps;
  for (int i = 0; i < 4; ++i) {
    StepEvent& begin = program.events.add<StepEvent>(0, 0);
    begin.anew = i == 0;
    begin.lead = i == 0 ? kPauseNs : 0;
    synctrace::HostEvent& pause = program.events.add<synctrace::HostEvent>(0, 1);
    pause.pre = i == 0 ? kPauseNs : 0;
    LaunchEvent& launch = program.events.add<LaunchEvent>(0, 0);
    launch.pause = launch.handover = kNoEdge;
    launch.length = 1'000'000;
    steps.steps.emplace_back().done_ns = 1;
  }
  program.events.add<StepEvent>(0, 0).begins = false;
  program.steps = 4;
  const Evaluator evaluator(program, steps);
  REQUIRE(evaluator.by_steps());
  const std::vector<Nanoseconds> times = evaluator.times(evaluator.whole(), std::vector<FixSet>{{}, {1}});
  CHECK(times[0] > 0);
  CHECK(times[1] >= 0);
  CHECK(times[1] <= times[0]);
}

TEST_CASE("one step without work in many is not counted, nor the one behind it, and the others are") {
  ReplayProgram program;
  program.sites.resize(1);
  program.thread_begins = {0};
  for (int i = 0; i < 41; ++i) program.events.add<StepEvent>(0, 0);
  const auto counted = [&](std::initializer_list<std::size_t> without_work) {
    Steps steps;
    steps.steps.resize(40);
    for (Step& step : steps.steps) step.done_ns = 1;
    for (const std::size_t i : without_work) steps.steps[i].done_ns = 0;
    const Evaluator evaluator(program, steps);
    return evaluator.by_steps() ? evaluator.counted_steps() : 0;
  };
  CHECK(counted({}) == 40);
  CHECK(counted({0}) == 38);
  CHECK(counted({20}) == 38);
  CHECK(counted({39}) == 39);
  CHECK(counted({5, 20}) == 36);
  CHECK(counted({5, 15, 25}) == 0);  // nine in ten are needed
}

}  // namespace synctrace::testing::generator::ordinary_steps_test
