// SPDX-License-Identifier: Apache-2.0
// What the timelines of a job's ranks begin with: the stretch that the first one to be drawn opens on. All others show
// every slice of that stretch too.
#pragma once

#include <optional>

#include "model/rank_lane.h"

namespace synctrace {

class SharedOpening {
 public:
  // The stretch on the clock of this rank; empty: none is known.
  TimeSpan wanted_of(const RankLane& lane) const {
    if (!opening_ || !lane.clock.known) return {};
    return {lane.clock.own(opening_->begin_ns), lane.clock.own(opening_->end_ns)};
  }

  // `opening`: what the timeline of this rank opens on.
  void note(const RankLane& lane, TimeSpan opening) {
    if (opening_ || !lane.clock.known) return;
    opening_ = TimeSpan{lane.clock.common(opening.begin_ns), lane.clock.common(opening.end_ns)};
  }

 private:
  std::optional<TimeSpan> opening_;  // on the clock that all share
};

}  // namespace synctrace
