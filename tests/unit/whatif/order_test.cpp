// SPDX-License-Identifier: Apache-2.0
// In which order fixes pay: those that gain alike stay as they are, and those that pay only together come together.
#include "whatif/order.h"

#include <algorithm>
#include <vector>

#include "support/catch.h"
#include "support/generated_support.h"
#include "support/replay_support.h"

namespace synctrace::testing::generator::order_test {
namespace {

// Two waits one after the other, then one that costs less than both of them.
Program pair_and_another() {
  Program program;
  program.stream_devices = {0};
  for (std::uint32_t line = 1; line <= 4; ++line) program.places.push_back({0, line});
  program.threads = {{{Act::kLaunch, 0, 0, 100'000},
                      {Act::kStreamSync, 1},
                      {Act::kStreamSync, 2},
                      {Act::kCompute, 0, 40'000},
                      {Act::kLaunch, 0, 0, 100'000},
                      {Act::kStreamSync, 3},
                      {Act::kCompute, 0, 5'000},
                      {Act::kLaunch, 0, 0, 100'000}}};
  return program;
}

std::uint16_t wait_site(const ReplayProgram& program, std::uint32_t place) {
  const FixKey key = fix_key_of_cause(CauseKind::kStreamSync, same_place(stack_of_place(place)), {}, {}, {});
  const auto site = std::find_if(program.sites.begin(), program.sites.end(),
                                 [&](const FixSite& one) { return one.fix != Fix::kNone && one.key == key; });
  REQUIRE(site != program.sites.end());
  return static_cast<std::uint16_t>(site - program.sites.begin());
}

}  // namespace

TEST_CASE("fixes that gain alike stay in their order, as the earlier ones cost more") {
  ReplayProgram program;
  program.sites.resize(5);
  const Evaluator evaluator(program, {});
  for (const FixSet& candidates : std::vector<FixSet>{{}, {4}, {1, 2}, {2, 1}, {3, 1, 4, 2}})
    CHECK(order_of(evaluator, candidates, {}) == candidates);
}

TEST_CASE("two waits that gain only together come before one that gains less than both") {
  const Program played = pair_and_another();
  const Trace trace = load_generated(played, play(played, 1));
  const Attribution attribution = explain_generated(trace);
  const ReplayProgram program = build_program(attribution, same_place);
  REQUIRE(program.refusal.empty());
  const Evaluator evaluator(program, attribution.steps);
  const std::uint16_t first = wait_site(program, 1);
  const std::uint16_t second = wait_site(program, 2);
  const std::uint16_t third = wait_site(program, 3);
  // Alone each of the two gains less than the third one.
  const FixSet none;
  const std::vector<FixSet> sets = {none, {first}, {second}, {third}, {first, second}};
  const std::vector<Nanoseconds> times = evaluator.times(evaluator.sample(), sets);
  const auto gain = [&](std::size_t set) { return times[0] - times[set]; };
  REQUIRE(gain(1) == gain(2));
  REQUIRE(gain(1) < gain(3));
  REQUIRE(2 * gain(3) < gain(4));
  for (const std::vector<Absorption>& absorptions : std::vector<std::vector<Absorption>>{{}, {{first, second, 0.9}}}) {
    CHECK(order_of(evaluator, {first, second, third}, absorptions) == FixSet{first, second, third});
    CHECK(order_of(evaluator, {third, first, second}, absorptions) == FixSet{first, second, third});
    CHECK(order_of(evaluator, {second, third, first}, absorptions) == FixSet{second, first, third});
  }
}

}  // namespace synctrace::testing::generator::order_test
