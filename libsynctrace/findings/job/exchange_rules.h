// SPDX-License-Identifier: Apache-2.0
// The rules about how the ranks of a job exchange data: of a job, never of one rank alone.
#pragma once

#include "findings/rules.h"

namespace synctrace {

inline constexpr Rule kSmallCollectivesRule{"ST061", "small-collectives"};
inline constexpr Rule kLateCollectiveRule{"ST062", "late-collective"};
inline constexpr Rule kDrainedCollectiveRule{"ST063", "drained-collective"};

}  // namespace synctrace
