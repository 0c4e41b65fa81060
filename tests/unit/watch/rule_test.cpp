// SPDX-License-Identifier: Apache-2.0
#include "watch/rule.h"

#include "support/catch.h"

namespace synctrace::testing::rule_test {
namespace {

using Quantity = WatchRule::Quantity;

WatchRule rule_of(const char* text) {
  Result<WatchRule> rule = parse_rule(text);
  REQUIRE(rule);
  return rule.value();
}

TEST_CASE("rules are read as they are written") {
  const WatchRule slow = rule_of("step > 1.3 x median for 3");
  CHECK(slow.quantity == Quantity::kStep);
  CHECK(slow.is_above);
  CHECK(slow.is_of_median);
  CHECK(slow.value == 1.3);
  CHECK(slow.looks == 3);
  CHECK(slow.seconds == 0.0);
  const WatchRule idle = rule_of("gpu idle > 40 % for 30s");
  CHECK(idle.quantity == Quantity::kIdle);
  CHECK_FALSE(idle.is_of_median);
  CHECK(idle.value == 40.0);
  CHECK(idle.looks == 1);
  CHECK(idle.seconds == 30.0);
  const WatchRule few = rule_of("launches < 0.5x median");
  CHECK(few.quantity == Quantity::kLaunches);
  CHECK_FALSE(few.is_above);
  CHECK(few.value == 0.5);
  CHECK(rule_of("waits > 1.5 x median for 2").quantity == Quantity::kWaits);
  CHECK(rule_of("collectives < 10 /s").quantity == Quantity::kCollectives);
  const WatchRule named = rule_of("range \"load batch #\" < 0.5 x median");
  CHECK(named.quantity == Quantity::kRanges);
  CHECK(named.range == "load batch #");
  CHECK(rule_of("range \"a > 3\" > 2").range == "a > 3");
}

TEST_CASE("units may stand close, or be left out") {
  CHECK(rule_of("step>250ms").value == 250.0);
  CHECK(rule_of("step > 0.25 s").value == 250.0);
  CHECK(rule_of("step > 250").value == 250.0);
  CHECK(rule_of("gpu idle>40%").value == 40.0);
  CHECK(rule_of("launches < 5000 /s for 2m").seconds == 120.0);
}

TEST_CASE("what is no rule is refused with an example") {
  for (const char* text : {"",
                           "step",
                           "step > ",
                           "step = 3",
                           "step > x median",
                           "steps > 3",
                           "gpu > 3",
                           "gpu idle > 140 %",
                           "step > 1.3 x mean",
                           "step > 3 ms for",
                           "step > 3 ms for 0",
                           "step > 3 ms for 2.5",
                           "step > 3 %",
                           "step > 3 ms for 2 days",
                           "range > 3",
                           "range x > 3",
                           "range \"\" > 3",
                           "range \"x > 3",
                           "waits > 3 ms",
                           "step > nan",
                           "step > -1",
                           "step > 1e300",
                           "idle > 4 %",
                           "step > 3 > 4"}) {
    INFO(text);
    const Result<WatchRule> rule = parse_rule(text);
    REQUIRE_FALSE(rule);
    CHECK(rule.error().message.find("such as 'step > 1.3 x median for 3'") != std::string::npos);
  }
  CHECK_FALSE(parse_rule("step > 3 ms for 1" + std::string(300, '0')));
}

}  // namespace
}  // namespace synctrace::testing::rule_test
