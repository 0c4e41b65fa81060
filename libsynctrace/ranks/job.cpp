// SPDX-License-Identifier: Apache-2.0
#include "ranks/job.h"

#include <utility>

namespace synctrace {

Job::Job(std::vector<RankSummary> summaries)
    : ranks(std::move(summaries)),
      match(match_ranks(ranks)),
      clocks(measure_clocks(ranks, match)),
      split(split_waits(ranks, match, clocks)),
      replay(ranks, match, split),
      times(ranks.size()) {
  for (std::uint32_t rank = 0; rank < ranks.size(); ++rank) {
    breaches.insert(breaches.end(), ranks[rank].breaches.begin(), ranks[rank].breaches.end());
    for (std::uint32_t device = 0; device < ranks[rank].devices.size(); ++device) {
      times[rank].push_back(device_time(ranks[rank], device, split.units[rank]));
      for (const DeviceTime* time : {&times[rank].back().all, &times[rank].back().in_steps}) {
        if (std::string breach = check_sum(*time); !breach.empty())
          breaches.push_back(std::move(breach) + " (" + ranks[rank].path + ")");
      }
    }
  }
}

}  // namespace synctrace
