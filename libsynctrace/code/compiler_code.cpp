// SPDX-License-Identifier: Apache-2.0
#include "code/compiler_code.h"

#include <algorithm>
#include <array>

namespace synctrace {
namespace {

struct CompilerCode {
  std::string_view file;      // how it ends
  std::string_view function;  // a part of the name
};

// Torch's, Triton's and JAX's other files hold what runs compiled code too.
constexpr std::array<CompilerCode, 9> kCompilers = {{
    {"jax/_src/compiler.py", ""},
    {"jax/_src/interpreters/mlir.py", ""},
    {"jax/_src/pjit.py", "_create_pjit_jaxpr"},
    {"torch/_dynamo/convert_frame.py", ""},
    {"torch/_inductor/graph.py", ""},
    {"torch/_inductor/runtime/benchmarking.py", ""},
    {"torch/_inductor/runtime/triton_heuristics.py", "bench"},
    {"triton/compiler/compiler.py", "compile"},
    {"triton/runtime/autotuner.py", "bench"},
}};

// How a name begins. Not "llvm::" alone: its pools' threads rest in it.
constexpr std::array<std::string_view, 9> kNativeCompilers = {
    "llvm::FPPassManager::",     "llvm::PassManager<",          "llvm::legacy::PassManager",
    "mlir::PassManager::",       "stream_executor::CompileGpu", "tsl::SubProcess::",
    "xla::gpu::CompileModuleTo", "xla::gpu::GpuCompiler::",     "xla::gpu::NVPTXCompiler::"};

}  // namespace

bool is_native_compiler_code(std::string_view function) noexcept {
  return std::any_of(kNativeCompilers.begin(), kNativeCompilers.end(),
                     [&](std::string_view begin) { return function.starts_with(begin); });
}

bool is_compiler_code(std::string_view file, std::string_view function) noexcept {
  return std::any_of(kCompilers.begin(), kCompilers.end(), [&](const CompilerCode& code) {
    return file.ends_with(code.file) && function.find(code.function) != std::string_view::npos;
  });
}

}  // namespace synctrace
