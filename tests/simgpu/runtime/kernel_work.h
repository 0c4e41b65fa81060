// SPDX-License-Identifier: Apache-2.0
//
// A kernel launch as work for a stream or a graph node. The arguments are read here, once.
#pragma once

#include <cstddef>

#include "runtime/kernel.h"
#include "runtime/timeline.h"

namespace synctrace::simgpu {

Work kernel_work(Device& device, const Kernel& kernel, const dim3& grid, const dim3& block, std::size_t shared_bytes,
                 void** arguments);

}  // namespace synctrace::simgpu
