// SPDX-License-Identifier: Apache-2.0
// What kind of memory a call copied is known better to CUPTI's record of the transfer than to the allocations that the
// recorder saw: calls whose kinds were judged by these take over those of their first transfer.
#pragma once

#include "model/trace.h"

namespace synctrace {

void refine_copies(Trace& trace);

}  // namespace synctrace
