// SPDX-License-Identifier: Apache-2.0
// Stacks cost time, so of short calls in quick succession only some have one (decision 0013). A read of one number is a
// copy and the wait right behind it: there the copy often has the stack, and the wait none.
#pragma once

#include <cstdint>

#include "model/trace.h"

namespace synctrace {

// Gives stacks to calls for which the recorder's budget had none left. Such a call follows another one of its thread,
// with no launch between. Where all calls of its function that followed one on the same stack had one and the same
// stack themselves, and there are enough of them, it is this call's, too. Calls and launches must be sorted by begin.
// Returns how many it gave.
std::uint64_t give_refused_stacks(Trace& trace);

}  // namespace synctrace
