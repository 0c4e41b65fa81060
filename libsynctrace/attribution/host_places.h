// SPDX-License-Identifier: Apache-2.0
// The place of host time that has no stack of its own: between the stacks around it; and where these have no line of the
// program because a library's thread worked for another one, where that one waited meanwhile.
#pragma once

#include <unordered_map>
#include <vector>

#include "attribution/evidence.h"

namespace synctrace {

class HostPlaces {
 public:
  explicit HostPlaces(const Evidence& evidence);

  // A row of OwnerTable::kStretch or kHostWait.
  Owner of(HostTimeline::Index thread, TimeSpan span);

  // The rows of OwnerTable::kStretch.
  const std::vector<HostTimeline::Neighbours>& stretches() const noexcept { return stretches_; }

 private:
  struct PairHash {
    std::size_t operator()(const HostTimeline::Neighbours& pair) const noexcept {
      return (std::uint64_t{number(pair.before)} << 32 | number(pair.after)) * 0x9e3779b97f4a7c15U >> 7;
    }
  };

  const Evidence& evidence_;
  std::vector<std::vector<std::uint32_t>> ended_by_;  // the host waits that each thread ended, in order
  std::vector<HostTimeline::Neighbours> stretches_;
  std::uint32_t last_ = 0;  // looked up
  std::unordered_map<HostTimeline::Neighbours, std::uint32_t, PairHash> known_;
};

}  // namespace synctrace
