// SPDX-License-Identifier: Apache-2.0
// Fixes that one change of the program makes together: one graph over many lines, pinned memory for one loader. A group
// has a saving of its own, which is not the sum of its lines'.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "whatif/evaluate.h"

namespace synctrace {

// The part that a site has in a change of several sites.
struct GroupOfFix {
  std::uint32_t group = 0;  // 0: none
  bool takes_all = false;   // the change cannot leave out a line of the group, however cheap it is
};
// `alone_share`: what the fix would save by itself, of the time; 0 where that was not looked at. `each_step`: how often
// the site is come to in a step; 0 where no steps are known.
using GroupOf = std::function<GroupOfFix(const FixSite&, double alone_share, double each_step)>;

// A fix that is worth a look.
struct Candidate {
  std::uint16_t site = 0;
  double alone_share = 0;
};

// The groups of these fixes, best first: each is the one that gains most after those before it. Fixes of a group that
// gain nothing beside the others of it are left out, unless the change takes all. A group without a candidate is left
// out.
std::vector<FixSet> groups_in_order(const Evaluator& evaluator, const ReplayProgram& program,
                                    const std::vector<Candidate>& candidates, const GroupOf& group_of);

// Takes out of the first `looked_at` of `together` the fixes without which the gain is the same, `done` being there in
// any case. One stays.
void leave_out_the_needless(const FixSet& done, std::size_t looked_at, FixSet& together, const Evaluator& evaluator);

}  // namespace synctrace
