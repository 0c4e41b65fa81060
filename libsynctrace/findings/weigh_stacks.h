// SPDX-License-Identifier: Apache-2.0
// What an attribution says, by stack, for the formats of flame graphs: they know nothing of causes.
#pragma once

#include <string>

#include "model/stack_profile.h"
#include "model/trace.h"

namespace synctrace {

struct Attribution;

// GPU idle time sums to the devices' idle time. A stack ends in the function that waited, where that is known, and in
// the cause in brackets; what has no stack is the cause alone. The interpreter's own frames are left out.
StackProfile weigh_stacks(const Trace& trace, const Attribution& attribution, std::string name);

}  // namespace synctrace
