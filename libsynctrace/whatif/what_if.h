// SPDX-License-Identifier: Apache-2.0
// The room's one entry point: what a program would save if a line of it were fixed, alone and together with others,
// and how sure that is. Times are ns of what was counted: the ordinary steps, or the whole recording.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "whatif/choices.h"
#include "whatif/evaluate.h"
#include "whatif/fix_groups.h"
#include "whatif/fix_sites.h"
#include "whatif/kernel_change.h"
#include "whatif/program.h"

namespace synctrace {

struct Attribution;

struct Saving {
  std::uint16_t site = 0;
  Fix fix = Fix::kNone;
  Interval alone;              // zero where no fix is legal
  Nanoseconds ceiling_ns = 0;  // if there were one
  std::uint16_t moves_to = 0;  // the site at which most of its wait would be waited instead; 0: none
  Nanoseconds moved_ns = 0;
};

// One more fix in the best order, or several that pay only together.
struct FixStep {
  FixSet sites;
  Interval marginal;
  Interval cumulative;
};

// The fixes that one change of the program makes together, or one change of kernels.
struct FixGroup {
  FixSet sites;  // sorted by the gain alone, the largest first
  Interval alone;
  Interval marginal;                       // after the groups before it
  Interval cumulative;                     // with them
  std::optional<std::size_t> change = {};  // an index of WhatIfOptions::kernel_changes; then there are no sites
};

// Some of the groups together; `groups` are their places in WhatIf::groups, in order.
struct GroupSet {
  std::vector<std::size_t> groups;
  Interval saving;
};

struct WhatIf;

struct WhatIfOptions {
  GroupOf group_of;                                     // none: no groups are looked for
  WhatGoes what_goes;                                   // none: nothing could go
  std::function<WhatStays(const FixSite&)> what_stays;  // none: only what each fix leaves
  Nanoseconds compiled_each_step = 0;                   // host time that what is compiled takes once in each step
  std::vector<KernelChange> kernel_changes;             // the recording has evidence of each
  // Which of the groups found to make together; none: only all up to each one are.
  std::function<std::vector<std::vector<std::size_t>>(const WhatIf&)> sets_of;
  // The fixes to make all together, and the ways that each could have; none: nothing is asked.
  std::function<std::vector<Choice>(const std::vector<FixSite>&)> asked;
  std::string graph_range;  // see build_program
};

struct WhatIf : SavingsBase {
  std::vector<FixSite> sites;
  std::vector<Saving> savings;  // one for each site that costs something, largest saving first
  std::vector<FixStep> order;
  std::vector<FixGroup> groups;   // best first
  std::vector<GroupSet> sets;     // that were asked about
  std::vector<Choice> choices;    // the choices that were asked about
  FixSet asked_sites;             // the sites that were taken of them
  std::optional<Interval> asked;  // the saving of these together
  std::uint16_t graph_site = 0;   // see ReplayProgram
  std::uint64_t waits_in_graph = 0;

  const Saving* of_site(std::uint16_t site) const noexcept;
  std::uint16_t find(const FixKey& key) const noexcept;  // 0: none
};

WhatIf what_if(const Attribution& attribution, const PlaceOf& place_of, const WhatIfOptions& options = {});

}  // namespace synctrace
