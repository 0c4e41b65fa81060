// SPDX-License-Identifier: Apache-2.0
#include "findings/remedies/frameworks.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <unordered_map>

namespace synctrace {
namespace {

struct Sign {
  std::string_view text;  // in the path of a source file or a library
  Framework framework;
};
constexpr std::array kSigns = {Sign{"/torch/", Framework::kPyTorch},
                               Sign{"/libtorch", Framework::kPyTorch},
                               Sign{"/libc10", Framework::kPyTorch},
                               Sign{"/transformers/", Framework::kPyTorch},
                               Sign{"/accelerate/", Framework::kPyTorch},
                               Sign{"/lightning/", Framework::kPyTorch},
                               Sign{"/pytorch_lightning/", Framework::kPyTorch},
                               Sign{"/torch_geometric/", Framework::kPyTorch},
                               Sign{"/jax/", Framework::kJax},
                               Sign{"/jaxlib/", Framework::kJax},
                               Sign{"/libjax", Framework::kJax},
                               Sign{"/xla_", Framework::kJax},
                               Sign{"/cupy/", Framework::kCupy},
                               Sign{"/cupy_backends/", Framework::kCupy}};

std::optional<Framework> framework_of_path(std::string_view whole) {
  const std::string_view path = within_packages(whole);
  const auto sign = std::find_if(kSigns.begin(), kSigns.end(),
                                 [&](const Sign& each) { return path.find(each.text) != std::string_view::npos; });
  return sign == kSigns.end() ? std::nullopt : std::optional(sign->framework);
}

constexpr std::size_t kFrameworkCount = 4;

// By what the process loaded: the first that it could be.
Framework loaded_framework(const Trace& trace) {
  std::optional<Framework> loaded;
  const auto look = [&](std::string_view path) {
    const auto found = framework_of_path(path);
    if (found && (!loaded || *found < *loaded)) loaded = found;
  };
  for (const auto& [id, module] : trace.modules) look(module.path);
  for (const auto& [id, code] : trace.codes) look(code.file);
  return loaded.value_or(Framework::kCuda);
}

}  // namespace

bool is_module_call(const ShownFrame& frame) {
  return frame.frame.file.find("/torch/nn/modules/module.py") != std::string::npos &&
         frame.frame.function.find("_call_impl") != std::string::npos;
}

bool is_recurrent_cell(const ShownFrame& frame) {
  return frame.frame.file.find("/torch/nn/modules/rnn.py") != std::string::npos &&
         frame.frame.function.ends_with("Cell.forward");
}

bool is_of_optimizer(const std::vector<ShownFrame>& stack) {
  for (const ShownFrame& each : stack) {  // innermost first
    if (each.frame.kind != FrameKind::kPython) continue;
    if (each.frame.file.find("/torch/optim/") != std::string::npos) return true;
    const bool is_torchs = within_packages(each.frame.file).find("/torch/") != std::string_view::npos;
    if (is_module_call(each) || !is_torchs) return false;
  }
  return false;
}

bool has_python(const SourceLine& where) {
  return std::any_of(where.stack.begin(), where.stack.end(),
                     [](const ShownFrame& each) { return each.frame.kind == FrameKind::kPython; });
}

bool has_file(const SourceLine& where, std::string_view part) {
  return std::any_of(where.stack.begin(), where.stack.end(),
                     [&](const ShownFrame& each) { return each.frame.file.find(part) != std::string::npos; });
}

std::string_view within_packages(std::string_view path) noexcept {
  constexpr std::string_view kPackages = "-packages/";
  const std::size_t at = path.rfind(kPackages);
  return at == std::string_view::npos ? path : path.substr(at + kPackages.size() - 1);
}

std::string_view package_of(Framework framework) noexcept {
  constexpr std::array<std::string_view, kFrameworkCount> kNames = {"", "torch", "jax", "cupy"};
  return kNames[static_cast<std::size_t>(framework)];
}

Frameworks::Frameworks(const Trace& trace) {
  std::unordered_map<std::uint32_t, std::optional<Framework>> of_codes;
  std::unordered_map<std::uint32_t, std::optional<Framework>> of_modules;
  for (const auto& [id, code] : trace.codes) of_codes[id] = framework_of_path(code.file);
  for (const auto& [id, module] : trace.modules) of_modules[id] = framework_of_path(module.path);
  std::array<std::size_t, kFrameworkCount> stacks{};
  for (const auto& [id, frames] : trace.stacks) {
    for (const StackFrame& frame : frames) {  // the innermost one that tells
      const auto& known = frame.kind == StackFrame::Kind::kPython ? of_codes : of_modules;
      const auto found = known.find(frame.kind == StackFrame::Kind::kPython ? frame.code : frame.native.module);
      if (found == known.end() || !found->second) continue;
      ++stacks[static_cast<std::size_t>(*found->second)];
      break;
    }
  }
  const auto most = std::max_element(stacks.begin(), stacks.end());
  usual_ = *most > 0 ? static_cast<Framework>(most - stacks.begin()) : loaded_framework(trace);
}

Framework Frameworks::of(const std::vector<const SourceLine*>& lines) const {
  bool any_stack = false;
  bool any_python = false;
  for (const SourceLine* line : lines) {
    for (const ShownFrame& each : line->stack) {
      auto found = framework_of_path(each.frame.file);
      if (!found) found = framework_of_path(each.frame.module);
      if (found) return *found;
      any_stack = true;
      any_python = any_python || each.frame.kind == FrameKind::kPython;
    }
  }
  // A program of C++ may be linked against a framework; its own lines that show none are CUDA's.
  return any_stack && !any_python ? Framework::kCuda : usual_;
}

Framework Frameworks::of(const std::vector<ShownFix>& fixes) const {
  std::vector<const SourceLine*> lines;
  for (const ShownFix& fix : fixes) lines.push_back(&fix.where);
  return of(lines);
}

}  // namespace synctrace
