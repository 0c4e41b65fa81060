// SPDX-License-Identifier: Apache-2.0
// Kernels that do by a slow way what a library does by a faster one: rules ST079 to ST084, and block masks of ST072.
// What stays of their time was timed on an H200 (docs/measurements/ways.md).
#pragma once

#include <vector>

#include "findings/gpu_work/launched_kernels.h"

namespace synctrace {

std::vector<KernelAdvice> faster_ways(LaunchedKernels& kernels);

}  // namespace synctrace
