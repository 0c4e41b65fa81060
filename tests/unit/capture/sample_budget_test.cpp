// SPDX-License-Identifier: Apache-2.0
// The pauses between samples, by what looks cost.
#include "capture/samples/sample_budget.h"

#include "support/catch.h"

namespace synctrace::capture::sample_budget_test {
namespace {

constexpr std::int64_t kMs = 1'000'000;

// Looks that cost so much each, for a second; how many there were.
int looks_in_a_second(std::int64_t cost_ns, std::int64_t period_ns) {
  SampleBudget budget(0);
  std::int64_t spent_ns = 0;
  int looks = 0;
  for (std::int64_t now_ns = 0; now_ns < 1'000 * kMs; ++looks) {
    spent_ns += cost_ns;
    now_ns = std::max(now_ns + period_ns, budget.affordable_ns(now_ns, spent_ns));
  }
  return looks;
}

}  // namespace

TEST_CASE("cheap looks are taken at each period, dearer ones for a two-hundredth of the time") {
  CHECK(looks_in_a_second(20'000, 10 * kMs) == 100);
  CHECK(looks_in_a_second(50'000, 10 * kMs) >= 99);
  CHECK(looks_in_a_second(100'000, 10 * kMs) <= 51);
  CHECK(looks_in_a_second(500'000, 10 * kMs) <= 11);
}

TEST_CASE("one look of many milliseconds blinds the next fifth of a second, and no more") {
  SampleBudget budget(0);
  CHECK(budget.affordable_ns(0, 20 * kMs) == SampleBudget::kLongestPauseNs);
  CHECK(budget.affordable_ns(SampleBudget::kLongestPauseNs, 20 * kMs) == SampleBudget::kLongestPauseNs);
}

TEST_CASE("what was not spent pays for a burst of looks, but only so many") {
  SampleBudget budget(0);
  CHECK(budget.affordable_ns(10'000 * kMs, kMs) == 10'000 * kMs);
  CHECK(budget.affordable_ns(10'000 * kMs, kMs + 100'000) == 10'000 * kMs + 20 * kMs);
}

}  // namespace synctrace::capture::sample_budget_test
