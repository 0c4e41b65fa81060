// SPDX-License-Identifier: Apache-2.0
// Flags of streams that another tool's file does not have, as far as the work shows them.
#pragma once

#include <vector>

#include "model/trace.h"

namespace synctrace {

// Between the legacy default stream and an ordinary stream of its context, what was issued first ends before the other
// begins. So those of `unknown` for which that is not so are non-blocking, as PyTorch's and NCCL's are. `issued_ns`:
// for each operation the begin of its call, or its own.
void mark_concurrent_streams(Trace& trace, const std::vector<StreamKey>& unknown,
                             const std::vector<Nanoseconds>& issued_ns);

}  // namespace synctrace
