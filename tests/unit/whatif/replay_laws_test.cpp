// SPDX-License-Identifier: Apache-2.0
// What must hold for any program and any fixes: more fixes never take longer, all of them together are a ceiling, and
// nothing is faster than its GPU work. Random programs of the generator, random sets of sites.
#include <algorithm>
#include <map>
#include <random>

#include "support/catch.h"
#include "support/effort.h"
#include "support/generated_support.h"
#include "support/generator/random_program.h"
#include "support/replay_support.h"
#include "whatif/recorder_cost.h"
#include "whatif/what_if.h"

namespace synctrace::testing::replay_laws_test {
namespace {

constexpr std::uint64_t kPrograms = effort(2'000);

// The most work of any one stream, which no fix makes shorter.
Nanoseconds longest_stream(const ReplayProgram& program) {
  std::map<std::uint16_t, Nanoseconds> sums;
  for (const ReplayEvent& head : program.events) {
    if (head.kind == EventKind::kCopy) continue;
    if (const WorkWeights* work = program.events.work(head)) sums[work->stream] += work->length;
  }
  Nanoseconds longest = 0;
  for (const auto& [stream, sum] : sums) longest = std::max(longest, sum);
  return longest;
}

// The most host time of any one thread in which it waits for nothing, with all fixes: every term of the thread's own.
Nanoseconds busiest_thread(const ReplayProgram& program) {
  std::vector<Nanoseconds> sums(program.thread_begins.size());
  for (const ReplayEvent& head : program.events) {
    if (head.kind == EventKind::kPost || (head.kind == EventKind::kHost && head.site != 0)) continue;
    program.events.visit(head, [&](const auto& event) {
      if constexpr (requires { event.pre; }) sums[head.thread] += event.pre;
    });
  }
  return *std::max_element(sums.begin(), sums.end());
}

// Lane 0 has no fix, the last all; each lane has those of the one before, and some more.
Scenarios more_fixes_in_each_lane(const ReplayProgram& program, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Scenarios scenarios(program);
  for (std::uint16_t site = 1; site < program.sites.size(); ++site) {
    for (std::size_t lane = 1 + random() % (kLanes - 1); lane < kLanes; ++lane) scenarios.fix(lane, site);
  }
  return scenarios;
}

}  // namespace

TEST_CASE("more fixes never take longer") {
  for (std::uint64_t seed = 1; seed <= kPrograms; ++seed) {
    CAPTURE(seed);
    const generator::Program source = generator::random_program(seed + 50'000);
    const Trace trace = generator::load_generated(source, generator::play(source, seed));
    const ReplayProgram program = build_program(generator::explain_generated(trace), same_place);
    REQUIRE(program.refusal == "");
    const Scenarios scenarios = more_fixes_in_each_lane(program, seed);
    const Outcome outcome = replay(program, scenarios);
    for (std::size_t lane = 1; lane < kLanes; ++lane) {
      CAPTURE(lane);
      REQUIRE(outcome.end.at[lane] <= outcome.end.at[lane - 1]);
      for (const Lanes& step : outcome.steps) REQUIRE(step.at[lane] <= step.at[lane - 1]);
    }
    REQUIRE(outcome.end.at[0] == program.end_ns);
    REQUIRE(outcome.end.at[kLanes - 1] - program.begin_ns >= longest_stream(program));
    REQUIRE(outcome.end.at[kLanes - 1] - program.begin_ns >= busiest_thread(program));
  }
}

TEST_CASE("without the recorder more fixes never take longer either, however long hidden latencies are") {
  for (std::uint64_t seed = 1; seed <= kPrograms / 4; ++seed) {
    CAPTURE(seed);
    const generator::Program source = generator::random_program(seed + 60'000);
    const Trace trace = generator::of_real_recorder(generator::load_generated(source, generator::play(source, seed)));
    const ReplayProgram program = build_program(generator::explain_generated(trace), same_place);
    for (const Corner::Latency latency : {Corner::Latency::kTypical, Corner::Latency::kLow, Corner::Latency::kHigh}) {
      Scenarios scenarios = more_fixes_in_each_lane(program, seed);
      scenarios.recorder_off = RecorderOff::kAll;
      for (Corner& corner : scenarios.corners) corner.latency = latency;
      const Outcome outcome = replay(program, scenarios);
      for (std::size_t lane = 1; lane < kLanes; ++lane) {
        CAPTURE(lane);
        REQUIRE(outcome.end.at[lane] <= outcome.end.at[lane - 1]);
      }
    }
  }
}

TEST_CASE("the corners that the bounds look at take nothing from an unchanged program but its unexplained delays") {
  for (std::uint64_t seed = 1; seed <= kPrograms / 10; ++seed) {
    CAPTURE(seed);
    const generator::Program source = generator::random_program(seed + 70'000);
    const Trace trace = generator::load_generated(source, generator::play(source, seed));
    const ReplayProgram program = build_program(generator::explain_generated(trace), same_place);
    Scenarios scenarios(program);
    scenarios.corners[1].latency = Corner::Latency::kLow;
    scenarios.corners[2].latency = Corner::Latency::kHigh;
    scenarios.corners[3].use = Corner::Use::kNever;
    scenarios.corners[4].use = Corner::Use::kNextWait;
    scenarios.corners[5].loader_keeps_pace = false;
    scenarios.corners[6].without_delays = true;
    const Outcome outcome = replay(program, scenarios);
    for (std::size_t lane = 1; lane <= 5; ++lane) REQUIRE(outcome.end.at[lane] == outcome.end.at[0]);
    REQUIRE(outcome.end.at[6] <= outcome.end.at[0]);
    REQUIRE(outcome.end.at[0] - outcome.end.at[6] <= program.unexplained_ns);
  }
}

TEST_CASE("numbers that are never read cost as little as waits that are gone, those that are read later their calls") {
  std::size_t dearer = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    const generator::Program source = generator::random_program(seed + 80'000);
    const Trace trace = generator::load_generated(source, generator::play(source, seed));
    ReplayProgram program = build_program(generator::explain_generated(trace), same_place);
    Scenarios scenarios(program);
    std::vector<FixSite*> waits;
    for (std::uint16_t site = 1; site < program.sites.size(); ++site) {
      if (program.sites[site].fix != Fix::kRemoveWait) continue;
      for (const std::size_t lane : {0, 1}) scenarios.fix(lane, site);
      waits.push_back(&program.sites[site]);
    }
    const Nanoseconds gone_ns = replay(program, scenarios).end.at[0];
    for (FixSite* wait : waits) wait->fix = Fix::kDeferRead;
    scenarios.corners[1].use = Corner::Use::kNever;
    const Outcome outcome = replay(program, scenarios);
    REQUIRE(outcome.end.at[1] == gone_ns);
    REQUIRE(outcome.end.at[0] >= gone_ns);
    dearer += outcome.end.at[0] > gone_ns;
  }
  CHECK(dearer > 0);
}

TEST_CASE("the more of the recorded time was the recorder's, the sooner a program without it ends") {
  std::size_t sooner = 0;
  for (std::uint64_t seed = 1; seed <= kPrograms / 10; ++seed) {
    CAPTURE(seed);
    const generator::Program source = generator::random_program(seed + 110'000);
    const Trace trace = generator::of_real_recorder(generator::load_generated(source, generator::play(source, seed)));
    const ReplayProgram program = build_program(generator::explain_generated(trace), same_place);
    Nanoseconds last_ns = program.end_ns;
    for (const RecorderOff off : {RecorderOff::kNothing, RecorderOff::kLess, RecorderOff::kAll, RecorderOff::kMore}) {
      Scenarios scenarios(program);
      scenarios.recorder_off = off;
      const Outcome outcome = replay(program, scenarios);
      REQUIRE(outcome.end.at[0] <= last_ns);
      REQUIRE(outcome.end.at[0] - program.begin_ns >= longest_stream(program));
      sooner += outcome.end.at[0] < last_ns;
      last_ns = outcome.end.at[0];
    }
  }
  CHECK(sooner > kPrograms / 10);
}

TEST_CASE("how long a program takes without the recorder is a range, where there was one") {
  const generator::Program source = generator::random_program(110'001);
  const Trace plain = generator::load_generated(source, generator::play(source, 1));
  const WhatIf without = what_if(generator::explain_generated(plain), same_place);
  CHECK(without.base_lo_ns == without.base_ns);
  CHECK(without.base_hi_ns == without.base_ns);
  const Trace real = generator::of_real_recorder(plain);
  const WhatIf with = what_if(generator::explain_generated(real), same_place);
  CHECK(with.base_lo_ns < with.base_ns);
  CHECK(with.base_ns < with.base_hi_ns);
  CHECK(with.base_hi_ns < with.recorded_ns);
}

TEST_CASE("no time gets below zero, however much of it was the recorder's") {
  Trace trace;  // on its host CUPTI takes as long as is believed
  trace.facts["cupti_version"] = "130001";
  trace.apis[ApiId{1}].category = ApiCategory::kLaunch;
  for (Nanoseconds begin_ns = 0; begin_ns < 10'000'000; begin_ns += 100'000)
    trace.launches.push_back({{begin_ns, begin_ns + 60'000}, ThreadId{7}, ApiId{1}, {}, {}});
  const RecorderCost recorder(trace);
  REQUIRE(recorder.of(60'000, 60'000, true, true).inside_ns == 5'780);
  for (const bool issues : {false, true}) {
    for (Nanoseconds ns = 0; ns < 40'000; ++ns) {
      const RecorderCost::OfCall cost = recorder.of(ns, ns, issues, true);
      REQUIRE(3 * ns >= Nanoseconds{4} * cost.inside_ns);
      REQUIRE(3 * ns >= Nanoseconds{4} * cost.before_ns);
    }
  }
}

// The same events in two runs, the second going on where the first stopped, end as in one.
TEST_CASE("a replay can be cut anywhere") {
  for (std::uint64_t seed = 1; seed <= kPrograms / 10; ++seed) {
    CAPTURE(seed);
    const generator::Program source = generator::random_program(seed + 90'000);
    const Trace trace = generator::load_generated(source, generator::play(source, seed));
    const ReplayProgram program = build_program(generator::explain_generated(trace), same_place);
    Scenarios scenarios(program);
    for (std::uint16_t site = 1; site < program.sites.size(); ++site) scenarios.fix(site % kLanes, site);
    const Outcome whole = replay(program, scenarios);
    ReplayState state = initial_state(program);
    const std::size_t cut = program.events.size() * (seed % 7 + 1) / 9;
    replay(program, scenarios, 0, cut, state);
    const Outcome rest = replay(program, scenarios, cut, program.events.size(), state);
    REQUIRE(rest.end.at == whole.end.at);
  }
}

}  // namespace synctrace::testing::replay_laws_test
