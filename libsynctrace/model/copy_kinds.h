// SPDX-License-Identifier: Apache-2.0
// CUPTI's record of a transfer tells the kind of memory better than the allocations that the recorder saw: a call whose
// kinds were judged by these takes over the kinds of its first transfer.
#pragma once

#include "model/trace.h"

namespace synctrace {

void refine_copies(Trace& trace);

}  // namespace synctrace
