// SPDX-License-Identifier: Apache-2.0
// CUPTI's callbacks -> host-side events. Runs on the program's threads inside its CUDA calls: no allocation, no lock,
// no system call, no CUDA call. One event per outermost call: the driver call under a runtime call is part of it.
#pragma once

#include <cupti.h>

namespace synctrace::capture {

// The subscriber's callback.
void CUPTIAPI on_cupti_callback(void* user_data, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                                const void* data) noexcept;

// A run of queries that has not ended yet becomes an event. The thread whose run it is, when it ends.
void flush_open_poll() noexcept;

// Another trace begins: calls and queries that threads are in are not its own, and CUPTI may number streams otherwise.
// While nothing is recorded.
void forget_last_trace_calls() noexcept;

// Whether the calling thread is inside a CUDA call that is traced: what it waits for there is that call's.
bool inside_cuda_call() noexcept;

}  // namespace synctrace::capture
