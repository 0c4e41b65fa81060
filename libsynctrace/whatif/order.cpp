// SPDX-License-Identifier: Apache-2.0
#include "whatif/order.h"

#include <algorithm>

#include "base/shares.h"

namespace synctrace {
namespace {

constexpr Share kMostOfIt = percent(50);  // a wait that moves by this share hangs together with where it moves to
constexpr std::size_t kLongestChain = 4;

FixSet without(const FixSet& set, std::size_t index) {
  FixSet rest = set;
  rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(index));
  return rest;
}

FixSet together(FixSet set, const FixSet& more) {
  for (const std::uint16_t site : more) {
    if (std::find(set.begin(), set.end(), site) == set.end()) set.push_back(site);
  }
  return set;
}

class Search {
 public:
  Search(const Evaluator& evaluator, const FixSet& candidates) : evaluator_(evaluator), candidates_(candidates) {
    base_ns_ = times({{}}).front();
  }

  FixSet backward() const {
    FixSet left = candidates_;
    FixSet order;
    while (left.size() > 1) {
      std::vector<FixSet> sets;
      for (std::size_t i = 0; i < left.size(); ++i) sets.push_back(without(left, i));
      const std::vector<Nanoseconds> found = times(sets);
      // The later one of equal candidates goes: the earlier ones cost more.
      std::size_t least = 0;
      for (std::size_t i = 1; i < found.size(); ++i) least = found[i] <= found[least] ? i : least;
      order.push_back(left[least]);
      left = without(left, least);
    }
    order.insert(order.end(), left.begin(), left.end());
    std::reverse(order.begin(), order.end());
    return order;
  }

  FixSet forward(const std::vector<FixSet>& groups) const {
    FixSet order;
    Nanoseconds now_ns = base_ns_;
    while (order.size() < candidates_.size()) {
      std::vector<FixSet> choices;
      for (const std::uint16_t site : candidates_) {
        if (std::find(order.begin(), order.end(), site) == order.end()) choices.push_back({site});
      }
      for (const FixSet& group : groups) {
        if (together(order, group).size() > order.size() + 1) choices.push_back(group);
      }
      std::vector<FixSet> sets;
      for (const FixSet& choice : choices) sets.push_back(together(order, choice));
      const std::vector<Nanoseconds> found = times(sets);
      std::size_t best = 0;
      const auto gain_per_fix = [&](std::size_t i) {
        return static_cast<double>(now_ns - found[i]) / static_cast<double>(sets[i].size() - order.size());
      };
      for (std::size_t i = 1; i < found.size(); ++i) best = gain_per_fix(i) > gain_per_fix(best) ? i : best;
      order = sets[best];
      now_ns = found[best];
    }
    return order;
  }

  // The sum of what is gained after each fix: larger where gains come earlier.
  double area(const FixSet& order) const {
    std::vector<FixSet> sets;
    for (std::size_t i = 1; i <= order.size(); ++i)
      sets.emplace_back(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(i));
    double sum = 0;
    for (const Nanoseconds time_ns : times(sets)) sum += static_cast<double>(base_ns_ - time_ns);
    return sum;
  }

 private:
  std::vector<Nanoseconds> times(const std::vector<FixSet>& sets) const {
    return evaluator_.times(evaluator_.sample(), sets);
  }

  const Evaluator& evaluator_;
  const FixSet& candidates_;
  Nanoseconds base_ns_ = 0;
};

// A wait, where it moves to, where that moves to.
std::vector<FixSet> chains_of(const FixSet& candidates, const std::vector<Absorption>& absorptions) {
  std::vector<FixSet> chains;
  for (const std::uint16_t first : candidates) {
    FixSet chain = {first};
    while (chain.size() < kLongestChain) {
      const auto next = std::find_if(absorptions.begin(), absorptions.end(),
                                     [&](const Absorption& a) { return a.from == chain.back(); });
      if (next == absorptions.end() || next->share < kMostOfIt) break;
      const bool is_candidate = std::find(candidates.begin(), candidates.end(), next->to) != candidates.end();
      if (!is_candidate || std::find(chain.begin(), chain.end(), next->to) != chain.end()) break;
      chain.push_back(next->to);
      chains.push_back(chain);
    }
  }
  return chains;
}

}  // namespace

FixSet order_of(const Evaluator& evaluator, const FixSet& candidates, const std::vector<Absorption>& absorptions) {
  if (candidates.size() < 2) return candidates;
  const Search search(evaluator, candidates);
  FixSet backward = search.backward();
  FixSet forward = search.forward(chains_of(candidates, absorptions));
  return search.area(forward) > search.area(backward) ? forward : backward;
}

}  // namespace synctrace
