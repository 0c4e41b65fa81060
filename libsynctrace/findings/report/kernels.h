// SPDX-License-Identifier: Apache-2.0
// What the GPU's kernels do, by their names. Times are ns. Texts of the class are words of kernels/kernel_class.h,
// which live as long as the program; empty where the name does not say it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/time_span.h"

namespace synctrace {

// Kernels of one name without templates and parameters, and of one class.
struct KernelFamily {
  std::string name;
  std::string_view kind;       // "matmul"; "other": no claim
  std::string_view precision;  // "tf32": of products
  std::string_view layout;     // "nhwc": of images
  std::string_view library;    // "cudnn"
  std::uint64_t count = 0;
  Nanoseconds device_ns = 0;  // all added up, which may overlap
};

// All kernels of one kind and precision. The kind "graph" has launches of graphs whose kernels were not recorded.
struct KernelShare {
  std::string_view kind;
  std::string_view precision;
  std::uint64_t count = 0;
  Nanoseconds device_ns = 0;
};

}  // namespace synctrace
