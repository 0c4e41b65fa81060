// SPDX-License-Identifier: Apache-2.0
// The words that Kineto uses, which other tools look for, and JSON texts of names that may hold any bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "model/trace.h"
#include "timeline/slice_names.h"

namespace synctrace::chrome {

// A JSON string, quotes included: control bytes escaped, what is no UTF-8 replaced.
std::string quoted(std::string_view text);

std::string_view operation_category(timeline::SliceKind kind) noexcept;  // "kernel", "gpu_memcpy", "gpu_memset"
std::string_view call_category(ApiId api) noexcept;                      // "cuda_runtime", "cuda_driver"

// "Memcpy HtoD (Pageable -> Device)", "Memset (Device)", "CUDA graph 4", a kernel's demangled name, a function's.
std::string kineto_name(const Trace& trace, timeline::SliceName name);

}  // namespace synctrace::chrome
