// SPDX-License-Identifier: Apache-2.0
// From NCCL's ranges to records: its operations, and the launches that those of a group became. On the thread that
// calls NCCL; its state lies in the thread's ring.
#pragma once

#include <cstdint>

#include "capture/events/thread_buffer.h"
#include "capture/nvtx/nccl_calls.h"

namespace synctrace::capture {

// At the beginning of a range of NCCL's. Counts in any case; records where `buffer` is given and `records` says so.
// True: the range gives a group to the GPU, and its end is to be told.
bool begin_nccl_call(const NcclCall& call, NvtxPayload payload, ThreadBuffer* buffer, bool records,
                     std::int64_t now_ns) noexcept;

void end_nccl_launch(ThreadBuffer& buffer, std::int64_t now_ns) noexcept;

}  // namespace synctrace::capture
