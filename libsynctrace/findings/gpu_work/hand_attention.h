// SPDX-License-Identifier: Apache-2.0
// Attention that a program computes step by step, a product, a softmax and a product, where PyTorch has one kernel for
// all of it: rule ST083.
#pragma once

#include <optional>

#include "findings/gpu_work/launched_kernels.h"

namespace synctrace {

std::optional<KernelAdvice> fused_attention(LaunchedKernels& kernels);

}  // namespace synctrace
