// SPDX-License-Identifier: Apache-2.0
#include "whatif/fix_groups.h"

#include <algorithm>
#include <utility>

#include "whatif/bounds.h"

namespace synctrace {
namespace {

constexpr std::size_t kMostGroups = 24;
constexpr std::size_t kMostSites = 4'096;  // looked at beside the candidates

struct Group {
  std::uint32_t id = 0;
  bool takes_all = false;
  FixSet sites;
};

FixSet joined(FixSet set, const FixSet& more) {
  set.insert(set.end(), more.begin(), more.end());
  return set;
}

std::vector<Group> groups_of(const ReplayProgram& program, const std::vector<Candidate>& candidates,
                             const GroupOf& group_of) {
  const std::vector<FixSite>& sites = program.sites;
  const auto group_of_site = [&](std::uint16_t site, double alone_share) {
    const double each_step =
        program.steps == 0 ? 0 : static_cast<double>(sites[site].events) / static_cast<double>(program.steps);
    return group_of(sites[site], alone_share, each_step);
  };
  std::vector<Group> groups;
  const auto with_id = [&](std::uint32_t id) {
    return std::find_if(groups.begin(), groups.end(), [&](const Group& group) { return group.id == id; });
  };
  for (const auto& [site, alone_share] : candidates) {
    const GroupOfFix found = group_of_site(site, alone_share);
    if (found.group == 0) continue;
    auto group = with_id(found.group);
    if (group == groups.end()) {
      if (groups.size() == kMostGroups) continue;
      group = groups.insert(groups.end(), {found.group, found.takes_all, {}});
    }
    group->sites.push_back(site);
  }
  const bool any_takes_all =
      std::any_of(groups.begin(), groups.end(), [](const Group& each) { return each.takes_all; });
  for (std::uint16_t site = 1; any_takes_all && site < std::min(sites.size(), kMostSites); ++site) {
    const bool is_candidate =
        std::any_of(candidates.begin(), candidates.end(), [&](const Candidate& each) { return each.site == site; });
    if (sites[site].fix == Fix::kNone || is_candidate) continue;
    const GroupOfFix found = group_of_site(site, 0);
    const auto group = with_id(found.group);
    if (group != groups.end() && group->takes_all) group->sites.push_back(site);
  }
  return groups;
}

}  // namespace

void leave_out_the_needless(const FixSet& done, std::size_t looked_at, FixSet& together, const Evaluator& evaluator) {
  for (std::size_t k = 0; k < looked_at && together.size() > 1;) {
    const FixSet all = joined(done, together);
    FixSet fewer = all;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(done.size() + k));
    const std::vector<FixSet> both = {fewer, all};
    const std::vector<Nanoseconds> times = evaluator.times(evaluator.sample(), both);
    const double lost =
        static_cast<double>(times[0] - times[1]) / static_cast<double>(std::max<Nanoseconds>(1, times[1]));
    if (lost * 2 >= kModelError) {
      ++k;
    } else {
      together.erase(together.begin() + static_cast<std::ptrdiff_t>(k));
      --looked_at;
    }
  }
}

std::vector<FixSet> groups_in_order(const Evaluator& evaluator, const ReplayProgram& program,
                                    const std::vector<Candidate>& candidates, const GroupOf& group_of) {
  std::vector<Group> left = groups_of(program, candidates, group_of);
  std::vector<FixSet> order;
  FixSet done;
  while (!left.empty()) {
    std::vector<FixSet> sets;
    for (const Group& group : left) sets.push_back(joined(done, group.sites));
    const std::vector<Nanoseconds> times = evaluator.times(evaluator.sample(), sets);
    const auto best = std::min_element(times.begin(), times.end()) - times.begin();
    Group group = std::move(left[static_cast<std::size_t>(best)]);
    left.erase(left.begin() + best);
    if (!group.takes_all) leave_out_the_needless(done, group.sites.size(), group.sites, evaluator);
    done = joined(std::move(done), group.sites);
    order.push_back(std::move(group.sites));
  }
  return order;
}

}  // namespace synctrace
