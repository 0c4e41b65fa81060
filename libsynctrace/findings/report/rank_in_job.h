// SPDX-License-Identifier: Apache-2.0
// What only all ranks together tell about one of them. Times are ns, of the GPU with most collectives, in ordinary
// steps.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/time_span.h"

namespace synctrace {

struct WaitedRank {
  std::string rank;  // label; empty: one without a recording, or it is not known which
  Nanoseconds waiting_ns = 0;
};

struct RankInJob {
  std::size_t ranks = 0;  // the job's recorded ranks
  std::size_t steps = 0;  // 0: figures are of all of the recording
  std::uint32_t device = 0;
  Nanoseconds waiting_ns = 0;
  Nanoseconds transfer_ns = 0;
  Nanoseconds unsplit_ns = 0;
  std::vector<WaitedRank> waits_for;  // longest first; sums to waiting_ns
  Nanoseconds others_waited_ns = 0;   // for it, all of them together
  std::uint64_t late_count = 0;
  std::string held_up_by;  // the rank for which this one is late, though its GPU is busy: beside kernels that wait
};

}  // namespace synctrace
