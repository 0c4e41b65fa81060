// SPDX-License-Identifier: Apache-2.0
#include "findings/remedies/frameworks.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

namespace synctrace {
namespace {

struct Sign {
  std::string_view text;  // in the path of a source file or a library
  Framework framework;
};
constexpr std::array kSigns = {Sign{"/torch/", Framework::kPyTorch},     Sign{"/libtorch", Framework::kPyTorch},
                               Sign{"/libc10", Framework::kPyTorch},     Sign{"/jax/", Framework::kJax},
                               Sign{"/jaxlib/", Framework::kJax},        Sign{"/libjax", Framework::kJax},
                               Sign{"/xla_", Framework::kJax},           Sign{"/cupy/", Framework::kCupy},
                               Sign{"/cupy_backends/", Framework::kCupy}};

std::optional<Framework> framework_of_path(std::string_view path) {
  const auto sign = std::find_if(kSigns.begin(), kSigns.end(),
                                 [&](const Sign& each) { return path.find(each.text) != std::string_view::npos; });
  return sign == kSigns.end() ? std::nullopt : std::optional(sign->framework);
}

}  // namespace

Framework framework_of(const std::vector<ShownFix>& fixes, const Trace& trace) {
  bool any_stack = false;
  bool any_python = false;
  for (const ShownFix& fix : fixes) {
    for (const ShownFrame& each : fix.where.stack) {
      auto found = framework_of_path(each.frame.file);
      if (!found) found = framework_of_path(each.frame.module);
      if (found) return *found;
      any_stack = true;
      any_python = any_python || each.frame.kind == FrameKind::kPython;
    }
  }
  // A program of C++ may be linked against a framework; its own lines that show none are CUDA's.
  if (any_stack && !any_python) return Framework::kCuda;
  std::optional<Framework> loaded;
  const auto look = [&](std::string_view path) {
    const auto found = framework_of_path(path);
    if (found && (!loaded || *found < *loaded)) loaded = found;
  };
  for (const auto& [id, module] : trace.modules) look(module.path);
  for (const auto& [id, code] : trace.codes) look(code.file);
  return loaded.value_or(Framework::kCuda);
}

}  // namespace synctrace
