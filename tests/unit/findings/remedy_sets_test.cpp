// SPDX-License-Identifier: Apache-2.0
// Which sets of changes are replayed, and what is promised for them: parts of savings, irregular steps, and the bound.
#include "findings/remedy_sets.h"

#include <algorithm>
#include <numeric>

#include "findings/middle_savings.h"
#include "support/catch.h"

namespace synctrace::testing::remedy_sets_test {
namespace {

constexpr Nanoseconds kBase = 1'000'000;

Interval saving(Nanoseconds ns) { return {ns, ns, ns, Grade::kHigh}; }

// A group for each of these gains, which overlap: together they save nine tenths of the sum.
WhatIf found_of(const std::vector<Nanoseconds>& gains) {
  WhatIf found;
  found.base_ns = kBase;
  Nanoseconds sum_ns = 0;
  for (const Nanoseconds ns : gains) {
    FixGroup& group = found.groups.emplace_back();
    group.alone = saving(ns);
    const Nanoseconds before_ns = found.groups.size() > 1 ? sum_ns * 9 / 10 : 0;
    sum_ns += ns;
    group.cumulative = saving(found.groups.size() > 1 ? sum_ns * 9 / 10 : ns);
    group.marginal = saving(group.cumulative.ns - before_ns);
  }
  return found;
}

// The replay's answers: all sets that were asked for.
void answer(const std::vector<std::vector<std::size_t>>& sets, WhatIf& found) {
  for (const std::vector<std::size_t>& set : sets) {
    Nanoseconds sum_ns = 0;
    for (const std::size_t group : set) sum_ns += found.groups[group].alone.ns;
    found.sets.push_back({set, saving(sum_ns * 9 / 10)});
  }
}

SavingsReport report_of(const WhatIf& found) {
  SavingsReport savings;
  savings.base_ns = found.base_ns;
  for (std::size_t i = 0; i < found.groups.size(); ++i) {
    Remedy& remedy = savings.remedies.emplace_back();
    remedy.group = i;
    remedy.cumulative = found.groups[i].cumulative;
  }
  return savings;
}

const RemedySet* find(const std::vector<RemedySet>& sets, std::uint64_t remedies) {
  const auto at =
      std::find_if(sets.begin(), sets.end(), [&](const RemedySet& set) { return set.remedies == remedies; });
  return at == sets.end() ? nullptr : &*at;
}

}  // namespace

TEST_CASE("only sets are replayed that no other answer has, and what is worth little goes together") {
  WhatIf found = found_of({200'000, 100'000, 50'000, 2'000, 900});
  RemedySets sets;
  const auto asked = sets.to_replay(found);
  CHECK(asked.size() == 15 - 3 - 3);  // the three alone; two, three and all in their order
  for (const std::vector<std::size_t>& set : asked) {
    const bool has_fourth = std::count(set.begin(), set.end(), 3U) == 1;
    CHECK(has_fourth == (std::count(set.begin(), set.end(), 4U) == 1));
    CHECK(std::is_sorted(set.begin(), set.end()));
  }
  answer(asked, found);
  const std::vector<RemedySet> promised = sets.promised(found, report_of(found));
  CHECK(promised.size() == 15);
  REQUIRE(find(promised, 0b101) != nullptr);
  CHECK(find(promised, 0b101)->saving.ns == 225'000);
  CHECK(find(promised, 0b101)->saving.lo_ns < 225'000);  // its range is as wide as predictions were seen to be off
  CHECK(find(promised, 0b001)->saving.ns == 200'000);
  CHECK(RemedySets().to_replay(found_of({200'000, 100'000, 900, 800})).empty());  // the rest is not worth a word
}

TEST_CASE("many changes are not all combined: the later ones have one switch") {
  WhatIf found = found_of(std::vector<Nanoseconds>(12, 40'000));
  RemedySets sets;
  const auto asked = sets.to_replay(found);
  CHECK(asked.size() < 64);
  answer(asked, found);
  SavingsReport savings = report_of(found);
  savings.sets = sets.promised(found, savings);
  settle_sets(savings);
  CHECK(find(savings.sets, 0b10) != nullptr);
  CHECK(find(savings.sets, 0b1000'0001) == nullptr);
  for (std::size_t i = 0; i < 12; ++i) {  // all up to each, whichever
    const RemedySet* set = find(savings.sets, (std::uint64_t{1} << (i + 1)) - 1);
    REQUIRE(set != nullptr);
    CHECK(set->saving.ns == savings.remedies[i].cumulative.ns);
  }
  found.groups.resize(65);
  CHECK(RemedySets().to_replay(found).empty());
}

TEST_CASE("a change that brings a part of its fixes' saving does so in each set") {
  WhatIf found = found_of({200'000, 100'000, 50'000});
  RemedySets sets;
  answer(sets.to_replay(found), found);
  SavingsReport savings = report_of(found);
  savings.remedies[1].part = {1, 2};
  const std::vector<RemedySet> promised = sets.promised(found, savings);
  CHECK(find(promised, 0b110)->saving.ns == 135'000 - 50'000);
  CHECK(find(promised, 0b101)->saving.ns == 225'000);
  savings.remedies[2].part = {1, 2};  // beside the first it saves 25,000
  CHECK(find(sets.promised(found, savings), 0b101)->saving.ns == 225'000 - 12'500);
}

TEST_CASE("a set saves no less than a part of it that was promised more than its replay said") {
  WhatIf found = found_of({200'000, 100'000, 50'000});
  RemedySets sets;
  answer(sets.to_replay(found), found);
  SavingsReport savings = report_of(found);
  savings.remedies[0].cumulative = saving(300'000);
  const std::vector<RemedySet> promised = sets.promised(found, savings);
  CHECK(find(promised, 0b101)->saving.ns == 300'000);
  CHECK(find(promised, 0b110)->saving.ns == 135'000);
}

TEST_CASE("what no replay knows is counted in each set that has the change, and replaced changes are in none") {
  WhatIf found = found_of({200'000, 100'000});
  RemedySets sets;
  answer(sets.to_replay(found), found);
  SavingsReport savings = report_of(found);
  savings.sets = sets.promised(found, savings);
  savings.remedies[1].beside_replay = saving(10'000);
  Remedy slow;  // only irregular steps have it, and it is the first of all
  slow.cumulative = slow.beside_replay = saving(30'000);
  savings.remedies.insert(savings.remedies.begin(), slow);
  savings.remedies[1].cumulative = saving(230'000);
  savings.remedies[2].cumulative = saving(310'000);
  settle_sets(savings);
  CHECK(savings.sets.size() == 7);
  CHECK(find(savings.sets, 0b001)->saving.ns == 30'000);
  CHECK(find(savings.sets, 0b010)->saving.ns == 200'000);
  CHECK(find(savings.sets, 0b100)->saving.ns == 110'000);
  CHECK(find(savings.sets, 0b101)->saving.ns == 140'000);
  CHECK(find(savings.sets, 0b110)->saving.ns == 280'000);
  CHECK(find(savings.sets, 0b111)->saving.ns == 310'000);  // it is printed so

  savings = report_of(found);
  savings.sets = sets.promised(found, savings);
  savings.remedies.erase(savings.remedies.begin());
  settle_sets(savings);
  CHECK(savings.sets.size() == 1);
}

TEST_CASE("up to 64 changes have sets, the first seven of those that no replay knows in all ways") {
  const auto sets_of = [](std::size_t count) {
    SavingsReport savings;
    savings.base_ns = kBase;
    savings.remedies.resize(count);
    for (std::size_t i = 0; i < count; ++i) savings.remedies[i].cumulative = saving(static_cast<Nanoseconds>(i) + 1);
    settle_sets(savings);
    return savings.sets;
  };
  CHECK(sets_of(65).empty());
  const std::vector<RemedySet> sets = sets_of(64);
  CHECK(sets.size() == 127 + 57);
  REQUIRE(find(sets, ~std::uint64_t{0}) != nullptr);
  CHECK(find(sets, ~std::uint64_t{0})->saving.ns == 64);
}

TEST_CASE("sets of a part of the run stand for all of it, too") {
  WhatIf found = found_of({200'000, 100'000});
  found.sets.push_back({{1}, saving(7'000)});
  scale(found, 2);
  CHECK(found.sets.front().saving.ns == 14'000);
}

}  // namespace synctrace::testing::remedy_sets_test
