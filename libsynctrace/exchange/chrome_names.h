// SPDX-License-Identifier: Apache-2.0
// The words that Kineto uses, which other tools look for, and JSON texts of names that may hold any bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "model/trace.h"

namespace synctrace::chrome {

// A JSON string, quotes included: control bytes escaped, what is no UTF-8 replaced.
std::string quoted(std::string_view text);

std::string_view operation_category(OperationKind kind) noexcept;  // "kernel", "gpu_memcpy", "gpu_memset"
// "Memcpy HtoD (Pageable -> Device)", "Memset (Device)", "CUDA graph 4", a kernel's demangled name.
std::string operation_name(const Trace& trace, const Operation& operation);

// The same for operations of the same name.
std::uint64_t operation_name_key(const Operation& operation) noexcept;

std::string_view call_category(ApiId api) noexcept;  // "cuda_runtime", "cuda_driver"
std::string_view host_call_name(HostCall call) noexcept;
std::string overhead_name(std::uint32_t kind);

}  // namespace synctrace::chrome
