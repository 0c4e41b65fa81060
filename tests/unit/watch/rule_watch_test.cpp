// SPDX-License-Identifier: Apache-2.0
#include "watch/rule_watch.h"

#include <initializer_list>
#include <string>
#include <vector>

#include "support/catch.h"

namespace synctrace::testing::rule_watch_test {
namespace {

using Answer = RuleWatch::Answer;

RuleWatch watch(const char* text) { return RuleWatch(parse_rule(text).value()); }

// A look each second at steps of these lengths; the answers as letters: "?", "." healthy, "h" holds, "F" fires.
std::string answers(RuleWatch& watch, std::initializer_list<double> steps_ms, double first_s = 0.0) {
  std::string text;
  double time_s = first_s;
  for (const double step_ms : steps_ms) {
    Look look;
    look.time_s = time_s++;
    if (step_ms > 0.0) look.step_ms = step_ms;
    switch (watch.take(std::vector<Look>{look})) {
      case Answer::kUnknown: text += '?'; break;
      case Answer::kHealthy: text += '.'; break;
      case Answer::kHolds: text += 'h'; break;
      case Answer::kFires: text += 'F'; break;
    }
  }
  return text;
}

TEST_CASE("a median needs five healthy looks") {
  RuleWatch one = watch("step > 1.3 x median");
  CHECK(answers(one, {10, 10, 10, 10, 20, 10}) == "?????.");
  CHECK(answers(one, {20}) == "F");
}

TEST_CASE("so many looks in a row, and an episode once") {
  RuleWatch one = watch("step > 1.3 x median for 3");
  CHECK(answers(one, {10, 10, 10, 10, 10, 14, 14, 10, 14, 14, 14, 14, 14, 10, 14, 14, 14}) == "?????hh.hhFhh.hhF");
}

TEST_CASE("what is slow feeds no median") {
  RuleWatch one = watch("step > 1.3 x median for 2");
  CHECK(answers(one, {10, 10, 10, 10, 10}) == "?????");
  for (int i = 0; i < 100; ++i) answers(one, {14});
  CHECK(one.median() == 10.0);
  CHECK(answers(one, {12, 14, 14}) == ".hF");
}

TEST_CASE("a rule for some time counts from the first look at which it holds") {
  RuleWatch one = watch("step > 12 ms for 3s");
  CHECK(answers(one, {10, 14, 14, 14, 14, 14}) == ".hhhFh");
}

TEST_CASE("a look without steps says nothing and ends nothing") {
  RuleWatch one = watch("step > 12 ms for 2");
  CHECK(answers(one, {10, 14, 0, 14}) == ".h?F");
}

TEST_CASE("one rank of many is enough") {
  RuleWatch above = watch("step > 12 ms");
  RuleWatch below = watch("launches < 100");
  std::vector<Look> ranks(4);
  for (Look& rank : ranks) {
    rank.step_ms = 10.0;
    rank.length_s = 1.0;
    rank.launches_per_s = 500.0;
  }
  CHECK(above.take(ranks) == Answer::kHealthy);
  ranks[2].step_ms = 13.0;
  ranks[3].launches_per_s = 50.0;
  CHECK(above.take(ranks) == Answer::kFires);
  CHECK(below.take(ranks) == Answer::kFires);
  CHECK(above.finding() == "a step takes 13 ms");
  CHECK(below.finding() == "there are 50 launches/s");
}

TEST_CASE("the finding names value and median") {
  RuleWatch one = watch("step > 1.3 x median");
  answers(one, {10, 10, 10, 10, 10, 15});
  CHECK(one.finding() == "a step takes 15 ms, 1.5 times the median of 10 ms");
}

TEST_CASE("counts of a look, and a range that is not there") {
  RuleWatch waits = watch("waits > 1.5 x median");
  RuleWatch ranges = watch("range \"save\" > 0");
  CHECK_FALSE(waits.was_seen());
  Look look;
  look.length_s = 0.5;
  look.waits_per_s = 100.0;
  for (int i = 0; i < 5; ++i) CHECK(waits.take(std::vector<Look>{look}) == Answer::kUnknown);
  CHECK(waits.was_seen());
  look.waits_per_s = 160.0;
  CHECK(waits.take(std::vector<Look>{look}) == Answer::kFires);
  CHECK(waits.finding() == "there are 160 waits/s, 1.6 times the median of 100 waits/s");
  CHECK(ranges.take(std::vector<Look>{look}) == Answer::kHealthy);
  look.ranges_per_s["save"] = 0.5;
  CHECK(ranges.take(std::vector<Look>{look}) == Answer::kFires);
}

TEST_CASE("few events in a look may be more by chance") {
  RuleWatch above = watch("waits > 2 x median");
  RuleWatch below = watch("waits < 0.5 x median");
  RuleWatch number = watch("waits > 10");
  Look look;
  look.length_s = 0.5;
  const auto take = [&](RuleWatch& rule, double count) {
    look.waits_per_s = count / look.length_s;
    return rule.take(std::vector<Look>{look});
  };
  for (int i = 0; i < 5; ++i) {
    take(above, 3);
    take(below, 3);
  }
  CHECK(take(above, 8) == Answer::kHealthy);  // 3 and 3 roots and 1 are 9.2
  CHECK(take(above, 10) == Answer::kFires);
  CHECK(take(below, 0) == Answer::kHealthy);
  CHECK(take(number, 8) == Answer::kFires);  // who names a number means it
  RuleWatch many = watch("waits < 0.5 x median");
  for (int i = 0; i < 5; ++i) take(many, 100);
  CHECK(take(many, 45) == Answer::kFires);
}

}  // namespace
}  // namespace synctrace::testing::rule_watch_test
