// SPDX-License-Identifier: Apache-2.0
#include "capture/stacks/stack_budget.h"

#include "support/catch.h"

namespace synctrace::capture {
namespace {

using Use = StackBudget::Use;

constexpr std::int64_t kStart = 1'000'000'000'000;  // the clock began long ago
constexpr std::int64_t kCostNs = 2'000;

// Calls of `call_ns`, back to back for one second at one site: how many got a stack.
std::int64_t stacks_in_a_second(StackBudget& budget, Use use, StackBudget::Site site, std::int64_t call_ns,
                                std::int64_t& now) {
  std::int64_t taken = 0;
  for (const std::int64_t end = now + 1'000'000'000; now < end;) {
    const bool allowed = budget.allows(use, site, now);
    if (allowed) budget.spend(use, site, now, kCostNs);
    taken += allowed ? 1 : 0;
    now += call_ns + (allowed ? kCostNs : 0);
    if (use == Use::kCall) budget.call_ended(site, call_ns, allowed ? kCostNs : 0);
  }
  return taken;
}

TEST_CASE("stacks of calls that return at once stay within their share of the time") {
  StackBudget budget{};
  std::int64_t now = kStart;
  stacks_in_a_second(budget, Use::kCall, 1, 1'500, now);  // uses up what was saved
  const std::int64_t taken = stacks_in_a_second(budget, Use::kCall, 1, 1'500, now);
  CHECK(taken * kCostNs < 10'250'000);  // 1 %
  CHECK(taken * kCostNs > 9'000'000);
}

TEST_CASE("calls that issue work, and samples, have a share of their own") {
  for (const Use use : {Use::kWork, Use::kSample}) {
    StackBudget budget{};
    std::int64_t now = kStart;
    stacks_in_a_second(budget, Use::kCall, 1, 1'500, now);
    stacks_in_a_second(budget, use, 2, 60'000, now);
    const std::int64_t taken = stacks_in_a_second(budget, use, 2, 60'000, now);
    CHECK(taken * kCostNs < 2'625'000);  // 0.25 %
    CHECK(taken * kCostNs > 2'250'000);
    budget.spend(use, 2, now, 20'000);
    CHECK_FALSE(budget.allows(use, 2, now));
    CHECK(budget.allows(use, 3, now) == (use == Use::kWork));  // a rare one gets its stack
  }
}

TEST_CASE("a site that waits always gets its stack") {
  StackBudget budget{};
  std::int64_t now = kStart;
  stacks_in_a_second(budget, Use::kCall, 1, 1'500, now);
  CHECK(stacks_in_a_second(budget, Use::kCall, 2, 50'000, now) == 1'000'000'000 / (50'000 + kCostNs) + 1);
  CHECK(budget.allows(Use::kCall, 2, now));
  budget.call_ended(2, 1'500, 0);  // it no longer waits
  stacks_in_a_second(budget, Use::kCall, 1, 1'500, now);
  budget.spend(Use::kCall, 2, now, kCostNs);
  CHECK_FALSE(budget.allows(Use::kCall, 2, now + 1'500));
}

TEST_CASE("a site that comes up rarely always gets its stack") {
  for (const Use use : {Use::kCall, Use::kWork}) {
    StackBudget budget{};
    std::int64_t now = kStart;
    int missed = 0;
    for (int i = 0; i < 20; ++i) {
      for (const std::int64_t next = now + StackBudget::kRareNs[static_cast<std::size_t>(use)]; now < next;
           now += 1'500) {
        if (budget.allows(use, 1, now)) budget.spend(use, 1, now, kCostNs);
      }
      if (!budget.allows(use, 2, now)) ++missed;
      budget.spend(use, 2, now, kCostNs);
    }
    CHECK(missed == 0);
  }
}

TEST_CASE("many sites of work keep to the share of work") {
  StackBudget budget{};
  std::int64_t now = kStart;
  constexpr std::int64_t kSeconds = 10;
  constexpr std::int64_t kColdNs = 3'000;
  std::int64_t taken = 0;
  for (int i = 0; now < kStart + kSeconds * 1'000'000'000; ++i, now += 100'000) {
    const auto site = static_cast<StackBudget::Site>(i % 200);  // all that a step of 20 ms has
    if (!budget.allows(Use::kWork, site, now)) continue;
    budget.spend(Use::kWork, site, now, kColdNs);
    ++taken;
  }
  CHECK(taken * kColdNs < kSeconds * 1'000'000'000 / 400 * 11 / 10);
}

TEST_CASE("a sample at a site that comes up rarely waits for its share") {
  StackBudget budget{};
  std::int64_t now = kStart;
  stacks_in_a_second(budget, Use::kSample, 1, 5'000, now);
  while (budget.allows(Use::kSample, 1, now)) budget.spend(Use::kSample, 1, now, kCostNs);
  budget.spend(Use::kSample, 1, now, 40'000);  // a first sight can be dear, and is paid in full
  CHECK_FALSE(budget.allows(Use::kSample, 2, now + 16'000'000));
  CHECK(budget.allows(Use::kSample, 2, now + 17'000'000));
}

TEST_CASE("a sample or a look that was interrupted does not cost the thread its next ones for seconds") {
  for (const Use use : {Use::kSample, Use::kLook}) {
    StackBudget budget{};
    REQUIRE(budget.allows(use, 1, kStart));
    budget.spend(use, 1, kStart, 5'000'000);
    CHECK(budget.allows(Use::kSample, 1, kStart + 1'000'000));
    CHECK(budget.allows(Use::kLook, 1, kStart + 11'000'000));
  }
}

TEST_CASE("looks have the share of samples, of which they take what is left over") {
  StackBudget budget{};
  std::int64_t now = kStart;
  std::int64_t looks = 0;
  std::int64_t samples = 0;
  std::int64_t refused = 0;
  budget.allows(Use::kSample, 1, now);
  constexpr std::int64_t kSeconds = 2;
  for (int i = 0; now < kStart + kSeconds * 1'000'000'000; ++i, now += 10'000) {
    if (i % 160 == 0) {  // half of the share
      const bool allowed = budget.allows(Use::kSample, 1, now);
      if (allowed) budget.spend(Use::kSample, 1, now, kCostNs);
      (allowed ? samples : refused) += 1;
    } else if (budget.allows(Use::kLook, 1, now)) {
      budget.spend(Use::kLook, 1, now, kCostNs);
      ++looks;
    }
  }
  CHECK(refused == 0);
  const std::int64_t share_ns = kSeconds * 1'000'000'000 / 400;
  CHECK((looks + samples) * kCostNs < share_ns * 101 / 100 + 25'000);  // and what was saved up
  CHECK(looks * kCostNs > share_ns * 4 / 10);
}

TEST_CASE("the same call at the same depth is one site") {
  CHECK(StackBudget::site_of(7, 0x7fff1230) == StackBudget::site_of(7, 0x7fff1230));
  CHECK(StackBudget::site_of(7, 0x7fff1230) != StackBudget::site_of(8, 0x7fff1230));
  CHECK(StackBudget::site_of(7, 0x7fff1230) != StackBudget::site_of(7, 0x7fff1290));
}

}  // namespace
}  // namespace synctrace::capture
