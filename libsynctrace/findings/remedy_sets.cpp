// SPDX-License-Identifier: Apache-2.0
#include "findings/remedy_sets.h"

#include <algorithm>
#include <bit>
#include <map>

#include "findings/report_parts.h"

namespace synctrace {
namespace {

constexpr std::size_t kMostSets = 128;     // with irregular steps, which need no replay
constexpr std::size_t kMostRemedies = 64;  // bits of RemedySet
constexpr Share kWorthAWord = {1, 1'000};  // likewise, as what is named among the others

std::uint64_t bit(std::size_t at) noexcept { return std::uint64_t{1} << at; }
std::uint64_t first_bits(std::size_t count) noexcept {
  return count == kMostRemedies ? ~std::uint64_t{0} : bit(count) - 1;
}

// Groups by the switch that makes them: each that is worth one has its own, the rest shares the last one. Where the
// rest is not worth a word, it has none.
std::vector<std::uint64_t> switches_of(const WhatIf& found) {
  const std::size_t count = found.groups.size();
  if (count > kMostRemedies) return {};
  std::vector<std::uint64_t> own;
  std::uint64_t rest = 0;
  bool is_worth_a_word = false;
  for (std::size_t i = 0; i < count; ++i) {
    const auto share = ratio(found.groups[i].marginal.ns, found.base_ns);
    if ((i == 0 || share >= kWorthASwitch) && own.size() + 1 < kMostSwitches) {
      own.push_back(bit(i));
    } else {
      rest |= bit(i);
      is_worth_a_word = is_worth_a_word || share >= kWorthAWord;
    }
  }
  if (is_worth_a_word) own.push_back(rest);
  return own;
}

// For all that can be chosen with these switches. The first of them is the lowest bit of `chosen`.
template <class Visit>
void visit_sets(const std::vector<std::uint64_t>& switches, const Visit& visit) {
  for (std::size_t chosen = 1; chosen < std::size_t{1} << switches.size(); ++chosen) {
    std::uint64_t groups = 0;
    for (std::size_t i = 0; i < switches.size(); ++i) {
      if ((chosen >> i & 1) != 0) groups |= switches[i];
    }
    visit(chosen, groups);
  }
}

// What the replay says of the groups by themselves and of all up to each.
std::map<std::uint64_t, Interval> answers_of(const WhatIf& found) {
  std::map<std::uint64_t, Interval> answers;
  for (const GroupSet& set : found.sets) {
    std::uint64_t groups = 0;
    for (const std::size_t group : set.groups) groups |= bit(group);
    answers[groups] = set.saving;
  }
  for (std::size_t i = 0; i < std::min(found.groups.size(), kMostRemedies); ++i) {
    answers[bit(i)] = found.groups[i].alone;
    answers[first_bits(i + 1)] = found.groups[i].cumulative;
  }
  return answers;
}

// What the groups of one switch leave of their fixes' savings where that is `marginal_ns`.
Nanoseconds left_by(std::uint64_t groups, Nanoseconds marginal_ns, const std::vector<Remedy>& remedies) {
  if (!std::has_single_bit(groups)) return 0;
  return marginal_ns - remedies[static_cast<std::size_t>(std::countr_zero(groups))].part.of(marginal_ns);
}

// A set saves no less than a part of it that was promised more than its replay said.
void keep_at_least(const Interval& least, Nanoseconds base_ns, Interval& saving) {
  for (const auto part : {&Interval::lo_ns, &Interval::ns, &Interval::hi_ns})
    saving.*part = std::min(std::max(saving.*part, least.*part), std::max(saving.*part, base_ns));
}

void add(const Interval& more, Nanoseconds base_ns, Interval& saving) {
  for (const auto part : {&Interval::lo_ns, &Interval::ns, &Interval::hi_ns})
    saving.*part = std::clamp<Nanoseconds>(add_saturated(saving.*part, more.*part), 0, base_ns);
  if (saving.grade == Grade::kNone) saving.grade = more.grade;
}

}  // namespace

std::vector<std::vector<std::size_t>> RemedySets::to_replay(const WhatIf& found) {
  switches_ = switches_of(found);
  std::vector<std::vector<std::size_t>> sets;
  const std::map<std::uint64_t, Interval> known = answers_of(found);
  visit_sets(switches_, [&](std::size_t, std::uint64_t groups) {
    if (known.contains(groups)) return;
    std::vector<std::size_t>& set = sets.emplace_back();
    for (std::size_t i = 0; i < found.groups.size(); ++i) {
      if ((groups & bit(i)) != 0) set.push_back(i);
    }
  });
  return sets;
}

std::vector<RemedySet> RemedySets::promised(const WhatIf& found, const SavingsReport& savings) const {
  struct Promise {
    Interval replayed;
    Interval saving;
    Nanoseconds left_ns = 0;  // by changes that bring a part of their fixes' savings
  };
  const std::map<std::uint64_t, Interval> answers = answers_of(found);
  std::vector<Promise> promises(std::size_t{1} << switches_.size());
  std::vector<RemedySet> sets;
  visit_sets(switches_, [&](std::size_t chosen, std::uint64_t groups) {
    const auto last = static_cast<std::size_t>(std::bit_width(chosen)) - 1;
    const Promise& before = promises[chosen - (std::size_t{1} << last)];
    Promise& promise = promises[chosen];
    promise.replayed = promise.saving = answers.at(groups);
    promise.left_ns =
        before.left_ns + left_by(switches_[last], promise.replayed.ns - before.replayed.ns, savings.remedies);
    for (Nanoseconds* time : {&promise.saving.lo_ns, &promise.saving.ns})
      *time = std::max<Nanoseconds>(0, *time - promise.left_ns);
    widen(found.base_ns, promise.saving);
    const auto count = static_cast<std::size_t>(std::popcount(groups));
    if (groups == first_bits(count)) promise.saving = savings.remedies[count - 1].cumulative;
    keep_at_least(before.saving, found.base_ns, promise.saving);
    sets.push_back({groups, promise.saving});
  });
  return sets;
}

void settle_sets(SavingsReport& savings) {
  const std::vector<Remedy>& remedies = savings.remedies;
  std::vector<RemedySet> sets;
  if (remedies.size() <= kMostRemedies) {
    sets.emplace_back();  // nothing, as a part of what follows
    std::uint64_t groups = 0;
    for (const Remedy& remedy : remedies) groups |= remedy.group ? bit(*remedy.group) : 0;
    for (const RemedySet& replayed : savings.sets) {
      if ((replayed.remedies & ~groups) != 0) continue;  // another remedy took the place of one of them
      RemedySet& set = sets.emplace_back(RemedySet{0, replayed.saving});
      for (std::size_t i = 0; i < remedies.size(); ++i) {
        if (!remedies[i].group || (replayed.remedies & bit(*remedies[i].group)) == 0) continue;
        set.remedies |= bit(i);
        add(remedies[i].beside_replay, savings.base_ns, set.saving);
      }
    }
    for (std::size_t i = 0; i < remedies.size() && 2 * sets.size() <= kMostSets; ++i) {
      if (remedies[i].group) continue;
      for (std::size_t k = 0, count = sets.size(); k < count; ++k) {
        RemedySet set = sets[k];
        set.remedies |= bit(i);
        add(remedies[i].beside_replay, savings.base_ns, set.saving);
        sets.push_back(set);
      }
    }
    std::erase_if(sets, [](const RemedySet& set) { return set.remedies == 0; });
    for (std::size_t i = 0; i < remedies.size(); ++i) {
      const auto same = std::find_if(sets.begin(), sets.end(),
                                     [&](const RemedySet& set) { return set.remedies == first_bits(i + 1); });
      if (same != sets.end())
        same->saving = remedies[i].cumulative;
      else
        sets.push_back({first_bits(i + 1), remedies[i].cumulative});
    }
  }
  savings.sets = std::move(sets);
}

}  // namespace synctrace
