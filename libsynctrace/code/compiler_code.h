// SPDX-License-Identifier: Apache-2.0
// Functions in which a framework compiles or tries out kernels, not those that run what was compiled.
#pragma once

#include <string_view>

namespace synctrace {

// By the file and the name of a Python function. Read in PyTorch 2.11, Triton 3.6 and JAX 0.11.
bool is_compiler_code(std::string_view file, std::string_view function) noexcept;

}  // namespace synctrace
