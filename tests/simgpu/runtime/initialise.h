// SPDX-License-Identifier: Apache-2.0
//
// What libcuda does when a process first uses CUDA: read the environment, load the tool named by
// CUDA_INJECTION64_PATH, find the devices. Once per process; a forked child of an initialised
// process is dead for CUDA.
#pragma once

#include "runtime/api_call.h"

namespace synctrace::simgpu {

// Cheap after the first time. Callable from any thread, and from inside InitializeInjection.
cudaError_t initialise();

// True in a forked child of an initialised process.
bool dead();

}  // namespace synctrace::simgpu
