// SPDX-License-Identifier: Apache-2.0
#include "kernels/kernel_name.h"

#include <algorithm>
#include <cstddef>

namespace synctrace {
namespace {

constexpr std::string_view kAnonymous = "(anonymous namespace)";

// The begin of a mangled name: "_ZN" and the parts of the function's name, each behind its length, as far as they are
// plain: "_ZN2at6native13reduce_kernelILi512E..." is at::native::reduce_kernel and "ILi512E...".
KernelName of_mangled(std::string_view name) {
  KernelName result;
  const bool is_static = name.starts_with("_ZL");
  name.remove_prefix(name.starts_with("_ZN") || is_static ? 3 : 2);
  while (!name.empty() && name.front() >= '1' && name.front() <= '9') {
    std::size_t length = 0;
    std::size_t digits = 0;
    while (digits < name.size() && name[digits] >= '0' && name[digits] <= '9')
      length = std::min(length * 10 + static_cast<std::size_t>(name[digits++] - '0'), name.size());
    const std::string_view part = name.substr(digits, length);
    if (!result.function.empty()) result.function += "::";
    result.function += part.starts_with("_GLOBAL__N") ? kAnonymous : part;
    name.remove_prefix(digits + part.size());
  }
  result.details = name;
  return result;
}

// In words a template's name begins with the type that it returns, for a kernel "void ".
KernelName of_words(std::string_view name) {
  constexpr std::string_view kVoid = "void ";
  if (name.starts_with(kVoid)) name.remove_prefix(kVoid.size());
  std::size_t end = 0;
  while (end < name.size()) {
    end = std::min(name.find_first_of("<(", end), name.size());
    if (!name.substr(end).starts_with(kAnonymous)) break;
    end += kAnonymous.size();
  }
  return {std::string(name.substr(0, end)), name.substr(end)};
}

}  // namespace

KernelName kernel_name(std::string_view name) { return name.starts_with("_Z") ? of_mangled(name) : of_words(name); }

}  // namespace synctrace
