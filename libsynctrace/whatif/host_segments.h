// SPDX-License-Identifier: Apache-2.0
// The time of a host thread between its calls and sleeps, cut where it is another place's doing.
#pragma once

#include <vector>

#include "attribution/classify.h"
#include "attribution/host_owners.h"
#include "whatif/fix_sites.h"

namespace synctrace {

class HostSegments {
 public:
  HostSegments(const Evidence& evidence, FixSites& sites)
      : evidence_(evidence), classifier_(evidence), owners_(evidence), sites_(sites) {}

  struct Segment {
    TimeSpan span;
    std::uint16_t site = 0;
    FixFamily family = FixFamily::kNone;
  };
  // The segments of `span`, in order. Valid until the next call.
  const std::vector<Segment>& cut(HostTimeline::Index thread, TimeSpan span);

  // The site of a launch in a dense run; else 0.
  std::uint16_t site_of_launch(std::uint32_t row);

 private:
  std::uint16_t site_of(const HostPiece& piece);
  std::uint16_t site_of_line(const HostPiece& piece);
  std::uint16_t site_at(CauseKind kind, Owner place);
  HostTimeline::Neighbours stacks_of(Owner place) const;

  const Evidence& evidence_;
  HostClassifier classifier_;
  HostOwners owners_;
  FixSites& sites_;
  std::vector<Segment> found_;
};

}  // namespace synctrace
