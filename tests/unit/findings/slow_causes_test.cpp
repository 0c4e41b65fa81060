// SPDX-License-Identifier: Apache-2.0
// What irregular steps cost: which share of the time they take, and which causes cost one of them more than others.
#include "findings/phases/slow_causes.h"

#include <string>
#include <vector>

#include "support/catch.h"

namespace synctrace::testing::slow_causes_test {
namespace {

struct Cost {
  const char* name;
  Nanoseconds irregular_ns;
  Nanoseconds steady_ns;
};

// "name irregular ordinary", for each cause.
std::vector<std::string> words(std::uint64_t steps, std::uint64_t irregular, const std::vector<Cost>& costs) {
  Report report;
  report.steps.figures.count = steps;
  report.steps.figures.irregular = irregular;
  report.devices.emplace_back();
  for (const Cost& cost : costs) {
    IdleCause& row = report.devices.emplace_back().causes.emplace_back();
    row.name = cost.name;
    row.irregular_ns = cost.irregular_ns;
    row.steady_ns = cost.steady_ns;
  }
  std::vector<std::string> texts;
  for (const SlowCause& row : slow_causes(report, 10)) {
    texts.push_back(row.cause->name + " " + std::to_string(row.irregular_ns) + " " + std::to_string(row.ordinary_ns));
  }
  return texts;
}

}  // namespace

TEST_CASE("irregular steps take a share of the time, or more") {
  const auto is_half = [](std::uint64_t irregular, Nanoseconds irregular_ns, Nanoseconds ordinary_ns) {
    StepsReport steps;
    steps.figures.irregular = irregular;
    steps.irregular_ns = irregular_ns;
    steps.ordinary_ns = ordinary_ns;
    return are_irregular_steps_at_least(percent(50), steps);
  };
  CHECK(is_half(1, 100, 100));
  CHECK(is_half(1, 101, 99));
  CHECK_FALSE(is_half(1, 99, 101));
  CHECK_FALSE(is_half(0, 100, 100));
}

TEST_CASE("a cause's costs are those of one step, and those that cost others as much are left out") {
  using Words = std::vector<std::string>;
  CHECK(words(12, 2, {{"more", 20, 50}, {"as much", 20, 100}, {"less", 10, 100}}) == Words{"more 10 5"});
  CHECK(words(2, 2, {{"none else", 20, 50}}) == Words{"none else 10 0"});
  CHECK(words(12, 0, {{"none", 20, 50}}).empty());
  CHECK(words(12, 2, {{"second", 20, 80}, {"first", 16, 10}, {"as the first", 14, 0}}) ==
        Words{"first 8 1", "as the first 7 0", "second 10 8"});
}

}  // namespace synctrace::testing::slow_causes_test
