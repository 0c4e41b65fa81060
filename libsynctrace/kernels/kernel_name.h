// SPDX-License-Identifier: Apache-2.0
// A kernel's name in two parts: which function it is, and what it was made for.
#pragma once

#include <string>
#include <string_view>

namespace synctrace {

struct KernelName {
  std::string function;      // "at::native::(anonymous namespace)::max_pool_forward_nchw", without arguments
  std::string_view details;  // the arguments of its templates and its parameters, as they stand; part of the name
};

// The name, in words or mangled, must outlive the result. A name that is neither is all function.
KernelName kernel_name(std::string_view name);

}  // namespace synctrace
