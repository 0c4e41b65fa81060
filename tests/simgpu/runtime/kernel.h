// SPDX-License-Identifier: Apache-2.0
//
// The kernels and variables that compiled programs register when they are loaded.
#pragma once

#include <cstddef>
#include <string>

#include "runtime/api_call.h"

namespace synctrace::simgpu {

struct Device;

struct Kernel {
  std::string name;       // mangled, as tools see it
  const void* host_stub;  // its address in the program
};

struct Variable {
  void* storage;  // the device's copy, shared by all simulated devices
  std::size_t bytes;
};

// By the host stub's address, or by the handle that __cudaGetKernel gave out; null if unknown.
const Kernel* find_kernel(const void* function);
// By the host shadow's address; null if unknown.
const Variable* find_variable(const void* symbol);

// Loads the registered modules into a new context, visibly to tools.
void load_modules(const Device& device);

}  // namespace synctrace::simgpu
