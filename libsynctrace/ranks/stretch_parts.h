// SPDX-License-Identifier: Apache-2.0
// What a rank did with its own time before each of its units: the causes of its GPU's idle time and the kernels that
// ran, added up by unit. So what made one rank late is seen by what it did more than another one in the same place.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "ranks/rank_summary.h"

namespace synctrace {

// The caller's names for parts: the same part has the same number on all ranks.
struct PartNames {
  std::function<std::uint32_t(DeviceId, std::uint32_t)> of_cause;  // by Cause::number
  std::function<std::uint32_t(std::uint32_t)> of_work;             // by the row of the operation
};

struct StretchPart {
  std::uint32_t unit = 0;
  std::uint32_t name = 0;
  Nanoseconds ns = 0;
};

// By unit, then by name; one row for each.
void add_up(std::vector<StretchPart>& parts);

// Added up. `attribution` has kept its parts.
std::vector<StretchPart> stretch_parts(const Trace& trace, const Attribution& attribution, const RankSummary& rank,
                                       const PartNames& names);

}  // namespace synctrace
