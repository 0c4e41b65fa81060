// SPDX-License-Identifier: Apache-2.0
//
// Kernels for tests that are compiled without nvcc: registered before main() as nvcc's code
// would, launched through cudaLaunchKernel.
#pragma once

#include <cuda_runtime_api.h>

namespace synctrace::simgpu_test {

// spin_ns(long long), which lasts that long, and work(), which lasts SIMGPU_KERNEL_NS.
cudaError_t launch_spin(long long nanoseconds, cudaStream_t stream);
cudaError_t launch_work(cudaStream_t stream);

inline constexpr long long kKernelNs = 20'000'000;

}  // namespace synctrace::simgpu_test
