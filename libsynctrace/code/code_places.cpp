// SPDX-License-Identifier: Apache-2.0
#include "code/code_places.h"

#include <algorithm>
#include <initializer_list>

namespace synctrace::places {
namespace {

using Words = std::initializer_list<std::string_view>;

bool starts_with_any(std::string_view text, Words prefixes) noexcept {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](std::string_view prefix) { return text.starts_with(prefix); });
}

bool is_any(std::string_view text, Words words) noexcept {
  return std::find(words.begin(), words.end(), text) != words.end();
}

std::string_view file_name(std::string_view path) noexcept { return path.substr(path.rfind('/') + 1); }

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

// "python3", "python3.11", "python3.13t", "pypy3.10": a word, then nothing but digits, dots and one letter.
bool is_interpreter_name(std::string_view name) noexcept {
  std::string_view rest = name;
  if (!starts_with_any(name, {"python", "Python", "pypy"})) return false;
  rest.remove_prefix(name.starts_with("pypy") ? 4 : 6);
  while (!rest.empty() && (is_digit(rest.front()) || rest.front() == '.')) rest.remove_prefix(1);
  return rest.empty() || is_any(rest, {"t", "d", "m", "td", "dm", "-dbg"});
}

// Calls visit(previous, component, following) from the left until it answers true.
template <class Visit>
bool any_component(std::string_view path, Visit visit) noexcept {
  std::string_view previous;
  std::string_view component = path.substr(0, path.find('/'));
  std::string_view rest = path.substr(std::min(path.size(), component.size() + 1));
  for (;;) {
    const std::string_view following = rest.substr(0, rest.find('/'));
    if (!component.empty() && visit(previous, component, following)) return true;
    if (rest.empty()) return false;
    previous = component;
    component = following;
    rest = rest.substr(std::min(rest.size(), following.size() + 1));
  }
}

bool has_component(std::string_view path, Words names) noexcept {
  return any_component(
      path, [&](std::string_view, std::string_view component, std::string_view) { return is_any(component, names); });
}

struct Framework {
  std::string_view folder;
  Words members;  // the folder's: a user's folder may have the same name, but hardly the same contents
};

bool belongs_to_framework(std::string_view folder, std::string_view member) noexcept {
  static const Framework kFrameworks[] = {
      {"torch",
       {"nn",
        "autograd",
        "_dynamo",
        "_inductor",
        "_functorch",
        "_C",
        "_tensor.py",
        "_tensor_str.py",
        "_ops.py",
        "_jit_internal.py",
        "_compile.py",
        "_utils.py",
        "_lowrank.py",
        "_prims",
        "_refs",
        "_decomp",
        "_higher_order_ops",
        "_library",
        "_export",
        "_subclasses",
        "ao",
        "amp",
        "cuda",
        "distributed",
        "distributions",
        "export",
        "func",
        "functional.py",
        "fx",
        "hub.py",
        "jit",
        "lib",
        "linalg",
        "multiprocessing",
        "onnx",
        "optim",
        "overrides.py",
        "package",
        "profiler",
        "random.py",
        "serialization.py",
        "sparse",
        "storage.py",
        "testing",
        "special",
        "fft",
        "backends",
        "nested",
        "masked",
        "quantization",
        "csrc",
        "include"}},
      {"triton", {"runtime", "compiler", "language", "backends", "tools", "testing.py", "_C", "ops", "knobs.py"}},
      {"jax",
       {"_src", "interpreters", "experimental", "numpy", "lax", "nn", "scipy", "extend", "tree_util.py", "random.py"}},
      {"jaxlib", {"xla_client.py", "_jax.so", "mlir", "xla_extension.so", "cuda", "gpu_solver.py"}},
      {"numpy",
       {"core", "_core", "lib", "linalg", "ma", "random", "fft", "testing", "polynomial", "ctypeslib.py", "matrixlib"}},
      {"cupy",
       {"_core", "cuda", "_creation", "_manipulation", "_math", "_statistics", "_sorting", "_logic", "_indexing",
        "linalg", "random", "fft", "lib", "testing", "array_api"}},
      {"cupyx", {"scipy", "jit", "_scatter.py", "distributed", "optimizing", "profiler"}},
  };
  for (const Framework& framework : kFrameworks) {
    if (folder == framework.folder) return is_any(member, framework.members);
  }
  return false;
}

// Parts of torch.utils, which shares its name with half of all projects.
bool is_torch_utils(std::string_view path) noexcept {
  for (const std::string_view part :
       {"/torch/utils/data/_utils/", "/torch/utils/data/dataloader.py", "/torch/utils/checkpoint.py",
        "/torch/utils/_contextlib.py", "/torch/utils/_python_dispatch.py", "/torch/utils/_pytree.py",
        "/torch/utils/_device.py", "/torch/utils/data/datapipes/", "/torch/utils/data/_"}) {
    if (path.find(part) != std::string_view::npos) return true;
  }
  return false;
}

// Files that torch.compile and Triton write and then run.
bool is_generated(std::string_view path) noexcept {
  return any_component(path, [](std::string_view previous, std::string_view component, std::string_view) {
    return component.starts_with("torchinductor_") || component == "torch_compile_debug" ||
           component == "torch_extensions" || (previous == ".triton" && component == "cache");
  });
}

}  // namespace

std::string with_slashes(std::string_view path) {
  std::string text(path);
  if (text.size() > 2 && text[1] == ':' && (text[2] == '\\' || text[2] == '/'))
    std::replace(text.begin(), text.end(), '\\', '/');
  return text;
}

CodeOwner owner_of_synthetic(std::string_view file) noexcept {
  if (starts_with_any(file, {"<frozen ", "<string-finder>", "<shim>"})) return CodeOwner::kRuntime;
  if (starts_with_any(file, {"<eval_with_key>", "<__array_function__", "<torch_"})) return CodeOwner::kFramework;
  if (starts_with_any(
          file, {"<attrs generated", "<decorator-gen", "<makefun-gen", "<@beartype", "<pydantic", "<lark", "<jinja"})) {
    return CodeOwner::kPackage;
  }
  return CodeOwner::kUser;
}

bool is_notebook_cell(std::string_view path) noexcept {
  return any_component(path, [](std::string_view previous, std::string_view component, std::string_view following) {
    // /tmp/ipykernel_4711/123.py; the package ipykernel itself has no such folder.
    const bool numbered = component.starts_with("ipykernel_") && component.size() > 10 && is_digit(component[10]);
    return !following.empty() && (numbered || component == ".ipykernel") && previous != "site-packages";
  });
}

bool is_installed_package(std::string_view path) noexcept {
  return any_component(path, [](std::string_view, std::string_view component, std::string_view following) {
    return is_any(component, {"site-packages", "dist-packages"}) || (component.ends_with(".egg") && !following.empty());
  });
}

bool is_python_library(std::string_view path) noexcept {
  return any_component(path, [](std::string_view previous, std::string_view component, std::string_view following) {
    if (following.empty()) return false;  // a file of that name
    if (is_any(previous, {"lib", "lib64", "lib32"}) && is_interpreter_name(component) && is_digit(component.back()))
      return true;
    if (is_any(previous, {"lib", "lib64"}) && is_interpreter_name(component) &&
        component.find('.') != std::string_view::npos)
      return true;
    if (component.starts_with("python3") && component.ends_with(".zip")) return true;
    // Windows, and an interpreter run from its build folder.
    return component == "Lib" && starts_with_any(previous, {"Python3", "python3", "cpython", "Python-3"});
  });
}

bool is_python_launcher(std::string_view path) noexcept {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string_view::npos || file_name(path.substr(0, slash)) != "bin") return false;
  return is_any(file_name(path), {"torchrun", "accelerate", "deepspeed", "pytest", "py.test", "ipython", "ipython3",
                                  "jupyter", "jupyter-lab", "jupyter-notebook", "uvicorn", "gunicorn", "streamlit",
                                  "ray", "horovodrun", "coverage", "pdb3", "vllm"});
}

bool is_framework_source(std::string_view path) noexcept {
  if (is_generated(path) || is_torch_utils(path)) return true;
  const bool is_installed = is_installed_package(path);
  return any_component(path, [&](std::string_view previous, std::string_view component, std::string_view following) {
    if (is_any(previous, {"site-packages", "dist-packages"})) {
      return is_any(component, {"torch", "triton", "jax", "jaxlib", "numpy", "cupy", "cupyx", "functorch", "torchgen",
                                "pytorch_triton"});
    }
    return !is_installed && belongs_to_framework(component, following);
  });
}

bool is_nvidia_library(std::string_view module) noexcept {
  return starts_with_any(
      file_name(module),
      {"libcuda.",        "libcudart",   "libcupti",     "libcublas",        "libcudnn",    "libnccl",
       "libcufft",        "libcurand",   "libcusolver",  "libcusparse",      "libnvrtc",    "libnvJitLink",
       "libnvToolsExt",   "libnvidia-",  "libnvinfer",   "libnvjpeg",        "libnvperf",   "libnvshmem",
       "libcudadebugger", "libcufile",   "libnpp",       "libnvptxcompiler", "libcutensor", "libcutlass",
       "libnvrm",         "libnvfatbin", "libnvgpucomp", "libcusparseLt",    "libnvblas"});
}

bool is_synctrace_library(std::string_view module) noexcept { return file_name(module).starts_with("libsynctrace"); }

bool is_interpreter(std::string_view module) noexcept {
  const std::string_view name = file_name(module);
  return is_interpreter_name(name) || starts_with_any(name, {"libpython", "libpypy"});
}

bool is_runtime_library(std::string_view module) noexcept {
  const std::string_view name = file_name(module);
  return is_interpreter(module) ||
         starts_with_any(name, {"libc.so",   "libc-2",     "libpthread",  "libm.so",     "libm-2",    "libdl.",
                                "libdl-",    "librt.",     "ld-linux",    "ld-2",        "ld-musl",   "libstdc++.",
                                "libc++.",   "libc++abi.", "libgcc_s.",   "libgomp.",    "libasan.",  "libtsan.",
                                "libubsan.", "libffi.",    "libtcmalloc", "libjemalloc", "linux-vdso"});
}

bool is_framework_library(std::string_view module) noexcept {
  return is_installed_package(module) || is_generated(module) ||
         starts_with_any(file_name(module), {"libtorch.", "libtorch_", "libc10.", "libc10_", "libcaffe2", "libshm.",
                                             "libtriton.", "xla_extension", "libjax"});
}

bool is_system_path(std::string_view module) noexcept {
  if (starts_with_any(module, {"/usr/", "/lib/", "/lib64/", "/lib32/", "/bin/", "/sbin/", "/opt/nvidia/", "/opt/intel/",
                               "/opt/amazon/", "/opt/hpcx/", "/snap/", "/nix/store/", "/gnu/store/", "/run/nvidia"})) {
    return true;
  }
  // <environment>/lib/lib*.so of conda and its relatives.
  return any_component(module, [](std::string_view previous, std::string_view component, std::string_view following) {
    const bool is_root = component.find("conda") != std::string_view::npos ||
                         starts_with_any(component, {"miniforge", "mambaforge", "micromamba"});
    return (is_root || previous == "envs") && is_any(following, {"lib", "lib64", "targets", "x86_64-conda-linux-gnu"});
  });
}

bool is_header_of_others(std::string_view file) noexcept {
  if (starts_with_any(file, {"/usr/include/", "/usr/lib/", "/usr/local/include/", "/usr/local/cuda", "/opt/cuda",
                             "/opt/nvidia/", "/nix/store/", "/build/glibc"})) {
    return true;
  }
  if (is_installed_package(file) || is_framework_source(file) || file.find("/include/c++/") != std::string_view::npos)
    return true;
  return file.find("/targets/x86_64-linux/include/") != std::string_view::npos ||
         file_name(file).starts_with("tmpxft_") || file.ends_with(".cudafe1.stub.c") ||
         has_component(file, {"sysdeps", "libstdc++-v3", "libgcc"});
}

CodeOwner owner_of_function(std::string_view name) noexcept {
  const auto has_word = [&](std::string_view prefix) {  // "cuda" then a capital: cudaMemcpy, not cudaless
    return name.starts_with(prefix) && name.size() > prefix.size() && name[prefix.size()] >= 'A' &&
           name[prefix.size()] <= 'Z';
  };
  if (has_word("cuda") || has_word("cu") ||
      starts_with_any(name, {"__cuda", "__cudart", "libcudart_static", "__device_stub", "cublas", "cudnn", "nccl"})) {
    return CodeOwner::kCuda;
  }
  if (starts_with_any(name, {"std::", "__gnu_cxx::", "_start", "__libc_",
                             "thrust::", "cub::", "void std::", "void thrust::", "void cub::", "__cxa_", "_Unwind_"})) {
    return CodeOwner::kRuntime;
  }
  return CodeOwner::kUser;
}

}  // namespace synctrace::places
