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

// Two waits one after the other, a third one and a fourth one. So long does the host compute behind each of them.
struct Computes {
  Nanoseconds pair_ns = 0;
  Nanoseconds third_ns = 0;
  Nanoseconds fourth_ns = 0;
};

Program four_waits(const Computes& computes) {
  Program program;
  program.stream_devices = {0};
  for (std::uint32_t line = 1; line <= 5; ++line) program.places.push_back({0, line});
  std::vector<Action> script;
  const auto wait = [&](const std::vector<std::uint32_t>& places, Nanoseconds compute_ns) {
    script.push_back({Act::kLaunch, 0, 0, 100'000});
    for (const std::uint32_t place : places) script.push_back({Act::kStreamSync, place});
    script.push_back({Act::kCompute, 0, compute_ns});
  };
  wait({1, 2}, computes.pair_ns);
  wait({3}, computes.third_ns);
  wait({4}, computes.fourth_ns);
  script.push_back({Act::kLaunch, 0, 0, 100'000});
  program.threads = {script};
  return program;
}

std::uint16_t wait_site(const ReplayProgram& program, std::uint32_t place) {
  const FixKey key = fix_key_of_cause(CauseKind::kStreamSync, same_place(stack_of_place(place)), {}, {}, {});
  const auto site = std::find_if(program.sites.begin(), program.sites.end(),
                                 [&](const FixSite& one) { return one.fix != Fix::kNone && one.key == key; });
  REQUIRE(site != program.sites.end());
  return static_cast<std::uint16_t>(site - program.sites.begin());
}

// The waits go by their numbers, not by their sites.
class Scene {
 public:
  explicit Scene(const Computes& computes)
      : played_(four_waits(computes)),
        trace_(load_generated(played_, play(played_, 1))),
        attribution_(explain_generated(trace_)),
        program_(build_program(attribution_, same_place)),
        evaluator_(program_, attribution_.steps) {
    REQUIRE(program_.refusal.empty());
    for (std::uint32_t place = 1; place <= 4; ++place) sites_.push_back(wait_site(program_, place));
  }

  Nanoseconds gain(const FixSet& waits) const {
    const std::vector<FixSet> sets = {{}, sites_of(waits)};
    const std::vector<Nanoseconds> times = evaluator_.times(evaluator_.sample(), sets);
    return times[0] - times[1];
  }

  FixSet order(const FixSet& waits, std::vector<Absorption> absorptions = {}) const {
    for (Absorption& one : absorptions) one = {site_of(one.from), site_of(one.to), one.share};
    FixSet order = order_of(evaluator_, sites_of(waits), absorptions);
    for (std::uint16_t& site : order)
      site = static_cast<std::uint16_t>(std::find(sites_.begin(), sites_.end(), site) - sites_.begin() + 1);
    return order;
  }

 private:
  std::uint16_t site_of(std::uint16_t wait) const { return sites_[wait - 1U]; }
  FixSet sites_of(FixSet waits) const {
    for (std::uint16_t& wait : waits) wait = site_of(wait);
    return waits;
  }

  Program played_;
  Trace trace_;
  Attribution attribution_;
  ReplayProgram program_;
  Evaluator evaluator_;
  FixSet sites_;
};

}  // namespace

TEST_CASE("fixes that gain alike stay in their order, as the earlier ones cost more") {
  ReplayProgram program;
  program.sites.resize(5);
  const Evaluator evaluator(program, {});
  for (const FixSet& candidates : std::vector<FixSet>{{}, {4}, {1, 2}, {2, 1}, {3, 1, 4, 2}})
    CHECK(order_of(evaluator, candidates, {}) == candidates);
}

TEST_CASE("two waits that gain only together come before one that gains less than half of that") {
  const Scene scene({40'000, 5'000, 0});
  REQUIRE(scene.gain({1}) == scene.gain({2}));
  REQUIRE(scene.gain({1}) < scene.gain({3}));
  REQUIRE(2 * scene.gain({3}) < scene.gain({1, 2}));
  for (const std::vector<Absorption>& absorptions : std::vector<std::vector<Absorption>>{{}, {{1, 2, 0.9}}}) {
    CHECK(scene.order({1, 2, 3}, absorptions) == FixSet{1, 2, 3});
    CHECK(scene.order({3, 1, 2}, absorptions) == FixSet{1, 2, 3});
    CHECK(scene.order({2, 3, 1}, absorptions) == FixSet{2, 1, 3});
  }
}

TEST_CASE("one wait comes before two that gain only together, and more, but less for each") {
  const Scene scene({20'000, 10'000, 0});
  REQUIRE(scene.gain({3}) < scene.gain({1, 2}));
  REQUIRE(2 * scene.gain({3}) > scene.gain({1, 2}));
  CHECK(scene.order({1, 2, 3}) == FixSet{3, 1, 2});
  CHECK(scene.order({2, 1, 3}) == FixSet{3, 2, 1});
}

TEST_CASE("waits that move to each other are tried together, where half of one or more does") {
  const Scene scene({40'000, 25'000, 1'000});
  REQUIRE(scene.gain({1}) < scene.gain({4}));
  REQUIRE(2 * scene.gain({4}) < scene.gain({1, 2}));
  REQUIRE(2 * scene.gain({3}) > scene.gain({1, 2}));
  REQUIRE(scene.gain({3}) < scene.gain({1, 2}));
  const FixSet apart = scene.order({1, 2, 3, 4});
  const FixSet together = {3, 1, 2, 4};
  CHECK(apart != together);
  CHECK(scene.order({1, 2, 3, 4}, {{1, 2, 0.5}}) == together);
  CHECK(scene.order({1, 2, 3, 4}, {{1, 2, 0.49}}) == apart);
  CHECK(scene.order({1, 2, 3, 4}, {{1, 2, 0.9}, {2, 1, 0.9}}) == together);
  CHECK(scene.order({1, 2, 3}, {{1, 4, 0.9}, {2, 4, 0.9}}) == FixSet{3, 1, 2});
}

}  // namespace synctrace::testing::generator::order_test
