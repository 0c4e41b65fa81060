// SPDX-License-Identifier: Apache-2.0
// What NVML said of the process's GPUs, as sentences: who else used them, and whether their clocks were held down.
#pragma once

#include <string>
#include <vector>

#include "findings/report/report.h"

namespace synctrace {

// Another process used one of them for a part of the time that is said.
bool is_gpu_shared(const Report& report) noexcept;

// At most one for each of these facts, about the GPU that it concerns most. None where the GPUs were the program's own.
std::vector<std::string> gpu_use_sentences(const Report& report);

}  // namespace synctrace
