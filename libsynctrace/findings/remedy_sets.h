// SPDX-License-Identifier: Apache-2.0
// What remedies save without the others: what the page's switches choose between. Savings do not add up, so each set is
// a replay of its own. Their number is bounded: what is worth a switch has one, and all the rest is one more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/shares.h"
#include "findings/report/savings.h"
#include "whatif/what_if.h"

namespace synctrace {

inline constexpr std::size_t kMostSwitches = 6;     // 64 sets; a replay of eight costs what one does
inline constexpr Share kWorthASwitch = percent(1);  // share of the time, as what is shown is worth

class RemedySets {
 public:
  // Chooses the switches. Returns the sets of groups that the replay does not answer anyway.
  std::vector<std::vector<std::size_t>> to_replay(const WhatIf& found);

  // The sets as they are promised. `savings` has a remedy for each group, in their order, and nothing of irregular
  // steps.
  std::vector<RemedySet> promised(const WhatIf& found, const SavingsReport& savings) const;

 private:
  std::vector<std::uint64_t> switches_;  // the groups that each makes, as bits
};

// Adds to them what no replay knows, when the remedies have their last order. A set that is all remedies up to one
// saves what that one says.
void settle_sets(SavingsReport& savings);

}  // namespace synctrace
