// SPDX-License-Identifier: Apache-2.0
// Knowledge about where installed code lies: Python's folders, frameworks, system libraries, headers. All by the text
// of a path alone, because a report may be made on another machine. Paths use '/' unless stated.
#pragma once

#include <string>
#include <string_view>

#include "code/user_frame.h"

namespace synctrace::places {

// A Windows path ("C:\...") with slashes; any other as it is.
std::string with_slashes(std::string_view path);

// Takes a file name that is no path: "<string>", "<frozen importlib>", "<ipython-input-3-...>".
CodeOwner owner_of_synthetic(std::string_view file) noexcept;

bool is_notebook_cell(std::string_view path) noexcept;      // a name that ipykernel gives its cells
bool is_installed_package(std::string_view path) noexcept;  // site-packages, dist-packages, eggs
bool is_python_library(std::string_view path) noexcept;     // the standard library of any interpreter
bool is_python_launcher(std::string_view path) noexcept;    // bin/torchrun and the like
bool is_framework_source(std::string_view path) noexcept;   // Python files of frameworks, generated ones included

// CUDA's driver and toolkit and what NVIDIA ships beside them, by file name.
bool is_nvidia_library(std::string_view module) noexcept;
bool is_synctrace_library(std::string_view module) noexcept;
bool is_interpreter(std::string_view module) noexcept;        // libpython, python3
bool is_runtime_library(std::string_view module) noexcept;    // libc, libstdc++, libpython, python3
bool is_framework_library(std::string_view module) noexcept;  // libtorch, libc10, jaxlib, any library of a package
bool is_system_path(std::string_view module) noexcept;
bool is_header_of_others(std::string_view file) noexcept;  // or another source file that the user did not write

// Takes a function of the user's own program without a known file: runtimes that are linked statically have names.
CodeOwner owner_of_function(std::string_view name) noexcept;

}  // namespace synctrace::places
