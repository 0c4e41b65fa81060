// SPDX-License-Identifier: Apache-2.0
// Groups of fixes on a program of known length: a wait whose removal gains nothing before the one behind it is gone.
#include "whatif/fix_groups.h"

#include <algorithm>

#include "support/catch.h"
#include "support/generated_support.h"
#include "support/hand_checked.h"
#include "support/replay_support.h"
#include "whatif/what_if.h"

namespace synctrace::testing::generator {
namespace {

WhatIf grouped(const GroupOf& group_of) {
  const Program program = hand_checked(true);
  const Trace trace = load_generated(program, play(program, 1));
  const Attribution attribution = explain_generated(trace);
  WhatIfOptions options;
  options.group_of = group_of;
  return what_if(attribution, same_place, options);
}

}  // namespace

TEST_CASE("a group's saving is that of its lines together, not their sum") {
  const WhatIf result = grouped([](const FixSite& site, double, double) {
    return GroupOfFix{site.fix == Fix::kRemoveWait ? 1U : 0U, false};
  });
  REQUIRE(result.groups.size() == 1);
  CHECK(result.groups.front().sites.size() == 2);
  CHECK(result.groups.front().alone.ns == result.groups.front().cumulative.ns);
  CHECK(result.groups.front().cumulative.ns >= 29'000);
}

TEST_CASE("groups add up to what all of them save, and the one that gains more comes first") {
  std::uint32_t next = 0;
  const WhatIf result = grouped([&](const FixSite&, double, double) { return GroupOfFix{++next, false}; });
  REQUIRE(result.groups.size() >= 2);
  Nanoseconds sum = 0;
  for (const FixGroup& group : result.groups) {
    sum += group.marginal.ns;
    CHECK(group.cumulative.ns == sum);
  }
  CHECK(sum == result.all.ns);
  CHECK(result.groups.front().marginal.ns >= result.groups.front().alone.ns);
}

TEST_CASE("what is in no group is left alone, and no group is looked for unasked") {
  CHECK(grouped([](const FixSite&, double, double) { return GroupOfFix{}; }).groups.empty());
  CHECK(grouped(nullptr).groups.empty());
}

TEST_CASE("a line that gains nothing beside the others is left out, unless the change takes all") {
  const auto sites_of = [](bool takes_all) {
    const WhatIf result = grouped([&](const FixSite& site, double, double) {
      return GroupOfFix{site.fix == Fix::kNone ? 0U : 1U, takes_all};
    });
    return result.groups.empty() ? std::size_t{0} : result.groups.front().sites.size();
  };
  CHECK(sites_of(true) >= sites_of(false));
  CHECK(sites_of(false) >= 2);
}

}  // namespace synctrace::testing::generator
