// SPDX-License-Identifier: Apache-2.0
// What kernels do, in words for people.
#pragma once

#include <string>

#include "findings/report/report.h"

namespace synctrace {

std::string class_words(const KernelFamily& family);  // "normalisation nchw"

// The share of the kernels' time that each class has, the largest first: "matmul 61.2 % (tf32 60.1 %, not named 1.1 %),
// pointwise 20.3 %, and 4 more 1.2 %". Empty where no kernel took time.
std::string kernel_class_words(const Report& report);

// What the GPU does where it is the limit: "The GPU computes: matmul 73.1 % (float32 73.0 %), pointwise 18.0 %, and 10
// more 8.9 %." Empty elsewhere, and where the names of most kernels tell nothing.
std::string gpu_work_sentence(const Report& report);

}  // namespace synctrace
