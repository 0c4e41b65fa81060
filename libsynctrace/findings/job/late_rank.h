// SPDX-License-Identifier: Apache-2.0
// Which rank of a job on one host calls NCCL last, again and again. It needs no record of the GPU's work, so it says
// neither how long the others' GPUs waited nor what a fix saves: ranks may call ahead of their GPUs.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "findings/report/report.h"

namespace synctrace {

struct LateRank {
  std::size_t report = 0;      // its row
  std::size_t last_of = 0;     // operations that it called last
  std::size_t operations = 0;  // that all their ranks called in the recordings
  Nanoseconds behind_ns = 0;   // the first rank to call: the middle one of those operations
};

// Nothing: there are not two ranks, or no clock that all share, or few operations, or the ranks take turns at being
// late, or the late one is behind by less than a twentieth of its step.
std::optional<LateRank> late_rank(std::span<const Report> reports);

}  // namespace synctrace
