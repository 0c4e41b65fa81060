// SPDX-License-Identifier: Apache-2.0
#include "watch/usual_pace.h"

#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.h"
#include "watch/rule_watch.h"

namespace synctrace::testing::usual_pace_test {
namespace {

using Calls = std::map<std::string, double, std::less<>>;

Look look_of(Calls calls_per_s, double length_s = 0.3) {
  Look look;
  look.length_s = length_s;
  look.calls_per_s = std::move(calls_per_s);
  return look;
}

// A loop of 7 ms that copies in each step, and reads in each tenth.
const Calls kUsual = {{"copy", 140.0}, {"read", 14.0}};

UsualPace usual_pace() {
  UsualPace pace;
  for (int i = 0; i < 5; ++i) pace.add(look_of(kUsual));
  return pace;
}

bool is_near(std::optional<double> value, double wanted) { return value && std::abs(*value - wanted) < 1e-6 * wanted; }

TEST_CASE("a loop is as much slower as its lines are called less often") {
  const UsualPace pace = usual_pace();
  CHECK(is_near(pace.slowdown(look_of(kUsual)), 1.0));
  CHECK(is_near(pace.slowdown(look_of({{"copy", 70.0}, {"read", 7.0}})), 2.0));
  CHECK(is_near(pace.slowdown(look_of({{"copy", 280.0}, {"read", 28.0}})), 0.5));
}

TEST_CASE("calls that are new in each step make no loop faster") {
  CHECK(is_near(usual_pace().slowdown(look_of({{"copy", 100.0}, {"read", 10.0}, {"new", 800.0}})), 1.4));
}

TEST_CASE("nothing is known before five looks, and behind the loop") {
  UsualPace pace;
  for (int i = 0; i < 4; ++i) pace.add(look_of(kUsual));
  CHECK_FALSE(pace.slowdown(look_of(kUsual)));
  pace.add(look_of(kUsual));
  CHECK(pace.slowdown(look_of(kUsual)));
  CHECK_FALSE(pace.slowdown(look_of({})));
  CHECK_FALSE(pace.slowdown(look_of({{"validation", 500.0}})));
  CHECK_FALSE(
      pace.slowdown(look_of({{"copy", 3.0}}, 0.3)));  // one call: the loop's end, or a step of a third of a second
  CHECK(pace.slowdown(look_of({{"copy", 5.0}}, 1.2)));
}

TEST_CASE("lines are known once one of them is in most looks") {
  UsualPace pace;
  CHECK_FALSE(pace.is_known(0.3));
  for (int i = 0; i < 9; ++i) {
    CHECK(pace.is_known(0.3) == (i >= 5));
    pace.add(look_of({}));  // does not count
    pace.add(look_of(kUsual));
  }
  pace = {};
  for (int i = 0; i < 9; ++i) pace.add(look_of({{"line " + std::to_string(i), 100.0}}));
  CHECK_FALSE(pace.is_known(0.3));
  pace = {};
  for (int i = 0; i < 9; ++i) pace.add(look_of({{"read", 14.0}}));
  CHECK_FALSE(pace.is_known(0.3));  // four in a look
  CHECK(pace.is_known(0.6));
}

TEST_CASE("few calls are fewer by chance") {
  UsualPace pace;
  for (int i = 0; i < 5; ++i) pace.add(look_of({{"copy", 40.0}}));
  CHECK(is_near(pace.slowdown(look_of({{"copy", 26.0}})), 1.0));  // 7.8 of 12
  CHECK(is_near(pace.slowdown(look_of({{"copy", 20.0}})), 2.0));  // 6 of 12
  CHECK(is_near(pace.slowdown(look_of({{"copy", 25.0}}, 3.0)), 1.6));
  pace = {};
  for (int i = 0; i < 5; ++i) pace.add(look_of({{"copy", 25.0}}));
  CHECK_FALSE(pace.slowdown(look_of({{"copy", 25.0}})));  // 7.5 in a look
}

TEST_CASE("the usual rate is that of the middle look of the last sixty") {
  UsualPace pace = usual_pace();
  for (int i = 0; i < 4; ++i) pace.add(look_of({{"copy", 1.0}}));
  CHECK(is_near(pace.slowdown(look_of(kUsual)), 1.0));
  for (int i = 0; i < 60; ++i) pace.add(look_of({{"copy", 70.0}}));
  CHECK(is_near(pace.slowdown(look_of({{"copy", 70.0}})), 1.0));
}

TEST_CASE("of lines that differ the one in the middle of all calls counts") {
  UsualPace pace;
  for (int i = 0; i < 5; ++i) pace.add(look_of({{"a", 100.0}, {"b", 110.0}, {"c", 100.0}}));
  CHECK(is_near(pace.slowdown(look_of({{"a", 20.0}, {"b", 55.0}, {"c", 100.0}})), 2.0));
}

TEST_CASE("a rule about steps goes by the pace, whatever is found as a step") {
  RuleWatch watch(parse_rule("step > 1.3 x median").value());
  const auto take = [&](double step_ms, double slowdown) {
    Look look = look_of({{"copy", 140.0 / slowdown}, {"read", 14.0 / slowdown}});
    look.step_ms = step_ms;
    return watch.take(std::vector<Look>{look});
  };
  for (int i = 0; i < 6; ++i) take(i % 3 == 1 ? 70 : 7, 1);
  CHECK(take(70, 1) == RuleWatch::Answer::kHealthy);
  CHECK(take(14, 2) == RuleWatch::Answer::kFires);
  CHECK(is_near(watch.value(), 14.0));
  CHECK(take(7, 1) == RuleWatch::Answer::kHealthy);
  CHECK(take(140, 2) == RuleWatch::Answer::kFires);
  CHECK(is_near(watch.value(), 14.0));
  CHECK(watch.finding() == "a step takes 14 ms, 2 times the median of 7 ms");
}

TEST_CASE("a rule about steps goes by the steps where no line is called often enough") {
  RuleWatch watch(parse_rule("step > 1.3 x median").value());
  const auto take = [&](double step_ms) {
    Look look = look_of({{"read", 100.0 / step_ms}});
    look.step_ms = step_ms;
    return watch.take(std::vector<Look>{look});
  };
  for (int i = 0; i < 9; ++i) take(7);
  CHECK(take(8) == RuleWatch::Answer::kHealthy);
  CHECK(take(14) == RuleWatch::Answer::kFires);
}

TEST_CASE("lines without steps make no median, and keep none from being made") {
  RuleWatch watch(parse_rule("step > 1.3 x median").value());
  for (int i = 0; i < 9; ++i) CHECK(watch.take(std::vector<Look>{look_of(kUsual)}) == RuleWatch::Answer::kUnknown);
  Look look = look_of(kUsual);
  look.step_ms = 7.0;
  for (int i = 0; i < 5; ++i) CHECK(watch.take(std::vector<Look>{look}) == RuleWatch::Answer::kUnknown);
  CHECK(watch.take(std::vector<Look>{look}) == RuleWatch::Answer::kHealthy);
}

TEST_CASE("steps of another loop are not compared, until it is the usual one") {
  RuleWatch watch(parse_rule("step > 1.3 x median").value());
  const auto take = [&](double step_ms, const char* line) {
    Look look = look_of({{line, 1000.0 / step_ms}});
    look.step_ms = step_ms;
    return watch.take(std::vector<Look>{look});
  };
  for (int i = 0; i < 40; ++i) take(7, "train");
  CHECK(take(30, "validate") == RuleWatch::Answer::kUnknown);
  CHECK(take(7, "train") == RuleWatch::Answer::kHealthy);
  for (int i = 0; i < 60; ++i) take(3, "validate");
  CHECK(take(3, "validate") == RuleWatch::Answer::kHealthy);
  CHECK(take(7, "train") == RuleWatch::Answer::kUnknown);
  CHECK(take(6, "validate") == RuleWatch::Answer::kFires);
}

}  // namespace
}  // namespace synctrace::testing::usual_pace_test
