// SPDX-License-Identifier: Apache-2.0
// Functions in which a framework compiles or tries out kernels, not those that run what was compiled.
#pragma once

#include <string_view>

namespace synctrace {

// By the file and the name of a Python function. Not yet seen in a recording: JAX's mlir.py and pjit.py, and Triton's
// compiler.py.
bool is_compiler_code(std::string_view file, std::string_view function) noexcept;

// By the name of a native function, with its arguments: XLA's compilers, LLVM's and MLIR's passes, and the processes
// that XLA starts for ptxas. Seen in a recording of JAX 0.11.
bool is_native_compiler_code(std::string_view function) noexcept;

}  // namespace synctrace
