// SPDX-License-Identifier: Apache-2.0
// Kernels whose only property is how long they last, so that an example is about the host code around them.
// The simulated GPU knows spin_ns by name and takes its argument as the kernel's length.
#pragma once

#include <cuda_runtime.h>

// One thread watches the device's nanosecond clock until `ns` have passed.
__global__ void spin_ns(long long ns) {
  unsigned long long start = 0;
  unsigned long long now = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (static_cast<long long>(now - start) < ns);
}

constexpr long long kMicrosecond = 1000;
constexpr long long kMillisecond = 1000 * kMicrosecond;
