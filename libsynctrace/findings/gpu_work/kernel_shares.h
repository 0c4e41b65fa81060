// SPDX-License-Identifier: Apache-2.0
// What stays of a kernel's time when the program is changed, by the kernel's class. The shares are those of changes
// that were timed on an H200 with PyTorch 2.11 (docs/measurements/gpu-bound.md): the usual one, and at best and at
// worst.
#pragma once

#include "base/shares.h"
#include "kernels/kernel_class.h"

namespace synctrace {

bool is_float32_matmul(const KernelClass& what) noexcept;
bool is_float32_product(const KernelClass& what) noexcept;  // also attention
bool is_tf32_product(const KernelClass& what) noexcept;     // also a convolution or a recurrent layer
bool is_tf32_convolution(const KernelClass& what) noexcept;
// Products that cuDNN makes of a convolution's gradient, and what gathers them.
bool may_be_a_gradient(const KernelClass& what) noexcept;
bool has_16_bits(const KernelClass& what) noexcept;
// cuDNN turns images round before a convolution on tensor cores, and back.
bool turns_images(const KernelClass& what) noexcept;
// It moves more data than it computes, so that a compiler gains by making one of several.
bool is_small_kernel(const KernelClass& what) noexcept;

ShareRange stays_in_tf32(const KernelClass& what);
ShareRange stays_in_channels_last(const KernelClass& what);
// `part`: the part of such kernels' time inside of what is compiled.
ShareRange stays_when_compiled(const KernelClass& what, Share part);
// `part`: the part of such kernels' time inside of an optimizer with the switch.
ShareRange stays_when_fused(const KernelClass& what, Share part);
ShareRange stays_in_bfloat16(const KernelClass& what);
// cuDNN times its algorithms and takes the fastest.
ShareRange stays_in_benchmark(const KernelClass& what);

// Products in float64, which become float32, or TF32 in convolutions.
ShareRange stays_in_float32(const KernelClass& what);
// Sums of equal indices by atomic additions.
ShareRange stays_with_index_select(const KernelClass& what);
// Only rows that a batch has are cleared and updated.
ShareRange stays_with_sparse_gradients(const KernelClass& what);

}  // namespace synctrace
