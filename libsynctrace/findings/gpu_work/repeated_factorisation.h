// SPDX-License-Identifier: Apache-2.0
// Equations that are solved in each step with the same matrix, which is factored anew each time: rule ST081.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "findings/gpu_work/launched_kernels.h"

namespace synctrace {

// "self.matrix" of "x = torch.linalg.solve(self.matrix, b)": an object's own matrix. Empty: nothing to go by.
std::string solved_matrix(std::string_view source);

std::optional<KernelAdvice> factored_once(LaunchedKernels& kernels);

}  // namespace synctrace
