// SPDX-License-Identifier: Apache-2.0
// Looks for the small functions of a program that wait or copy for their callers, in the stacks of its trace.
#pragma once

#include "code/wait_helpers.h"
#include "model/trace.h"

namespace synctrace {

// None without stacks of launches: then nothing tells a helper from a function that does the work itself.
WaitHelpers find_wait_helpers(const Trace& trace, const UserCode& user_code);

}  // namespace synctrace
