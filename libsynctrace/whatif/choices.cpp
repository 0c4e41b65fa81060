// SPDX-License-Identifier: Apache-2.0
#include "whatif/choices.h"

#include <algorithm>

namespace synctrace {
namespace {

void add(const FixSet& sites, FixSet& to) {
  for (const std::uint16_t site : sites) {
    if (std::find(to.begin(), to.end(), site) == to.end()) to.push_back(site);
  }
}

// Each way of the choice alone, where `others` are fixed.
std::vector<Nanoseconds> gains(const Evaluator& evaluator, const FixSet& others, const Choice& choice) {
  std::vector<FixSet> sets = {others};
  for (const Way& way : choice.ways) add(way.sites, sets.emplace_back(others));
  const std::vector<Nanoseconds> times = evaluator.times(evaluator.whole(), sets);
  std::vector<Nanoseconds> gains;
  for (std::size_t i = 1; i < times.size(); ++i) gains.push_back(times.front() - times[i]);
  return gains;
}

std::optional<std::size_t> best_of(const Choice& choice, const std::vector<Nanoseconds>& gains, Nanoseconds least_ns) {
  const bool only_by_name =
      std::all_of(choice.ways.begin(), choice.ways.end(), [](const Way& way) { return way.by_name; });
  Nanoseconds most_ns = 0;
  for (std::size_t i = 0; i < gains.size(); ++i) {
    if (choice.ways[i].legal && (only_by_name || !choice.ways[i].by_name)) most_ns = std::max(most_ns, gains[i]);
  }
  for (std::size_t i = 0; i < gains.size(); ++i) {
    if (choice.ways[i].by_name && !only_by_name) continue;
    const Nanoseconds gain_ns = choice.ways[i].legal ? gains[i] : 0;
    if (gain_ns + least_ns < most_ns) continue;
    return choice.ways[i].legal ? std::optional(i) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

// A wait that would only move to another line of the question gains something only where that one is fixed too, so
// each choice is made with all that could be done elsewhere.
FixSet take_ways(const Evaluator& evaluator, Nanoseconds least_ns, std::vector<Choice>& choices) {
  const auto others_of = [&](const Choice& of, bool only_taken) {
    FixSet others;
    for (const Choice& choice : choices) {
      if (&choice == &of) continue;
      for (std::size_t i = 0; i < choice.ways.size(); ++i) {
        if (only_taken ? choice.taken == i : choice.ways[i].legal) add(choice.ways[i].sites, others);
      }
    }
    return others;
  };
  for (Choice& choice : choices)
    choice.taken = best_of(choice, gains(evaluator, others_of(choice, false), choice), least_ns);
  FixSet taken;
  for (Choice& choice : choices) {
    const std::vector<Nanoseconds> found = gains(evaluator, others_of(choice, true), choice);
    for (std::size_t i = 0; i < found.size(); ++i) choice.ways[i].gain_ns = found[i];
    if (choice.taken) add(choice.ways[*choice.taken].sites, taken);
  }
  return taken;
}

}  // namespace synctrace
