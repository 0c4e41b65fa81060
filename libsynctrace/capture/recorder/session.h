// SPDX-License-Identifier: Apache-2.0
// The life of the recorder in one process: never started, recording, ended. Starts at the first CUDA call; ends at
// exit(), or at once when it cannot record. A forked child is silent from its first instruction. The one object is
// immortal: callbacks and NVTX calls may come until the process is gone.
#pragma once

namespace synctrace::capture {

// From the library's constructor, in every process that loads us: points CUDA and NVTX at this library and returns.
// Nothing else happens until the process uses CUDA.
void prepare_process() noexcept;

// From the library's destructor: one line when the program used CUDA and we never heard of it, since the environment
// had lost the variable that names us.
void say_if_missed() noexcept;

// From InitializeInjection, on the thread of the first CUDA call, inside cuInit: no CUDA call is allowed here.
void start_session() noexcept;

}  // namespace synctrace::capture
