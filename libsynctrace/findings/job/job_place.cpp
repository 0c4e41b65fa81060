// SPDX-License-Identifier: Apache-2.0
#include "findings/job/job_place.h"

#include "ranks/rank_summary.h"

namespace synctrace {

JobPlace job_place_of(const Trace& trace) {
  JobPlace place;
  place.rank = rank_number(trace);
  place.job = fact(trace, "job_id");
  for (const auto& [id, one] : trace.communicators) {
    if (one.hash != 0 && one.ranks > 0) place.communicators.push_back({one.hash, one.ranks, one.rank});
  }
  return place;
}

}  // namespace synctrace
