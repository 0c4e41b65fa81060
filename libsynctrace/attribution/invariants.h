// SPDX-License-Identifier: Apache-2.0
// Invariants of every analysis, whatever the trace. They are checked at the end of each, in every build. A breach is a
// bug of ours: tests fail, and a report shows it among the things that could not be known.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "attribution/cause.h"
#include "attribution/device_gaps.h"

namespace synctrace {

struct Attribution;

// I1, I4, I6: the parts of a group's gaps fill each gap exactly, in order; each has an owner, or a cause without one.
// Empty when all holds, else the first breach.
std::string check_parts(std::span<const Gap> gaps, std::span<const Part> parts);

// I2, I3, I5: per device, causes sum to its idle and copy-only time, states to the window, levels to each cause.
std::vector<std::string> check_sums(const Attribution& attribution);

// I7: no two steps overlap, and they add up to the recording with what lies between, before and after them.
std::vector<std::string> check_times(const Attribution& attribution, TimeSpan recording);

}  // namespace synctrace
