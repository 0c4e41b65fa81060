// SPDX-License-Identifier: Apache-2.0
#include "findings/remedies/launch_words.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/format_text.h"
#include "base/name_text.h"

namespace synctrace {
namespace {

using Lines = std::vector<SourceLine>;

constexpr std::string_view kGraphDecorator = "@torch.compile(mode=\"reduce-overhead\")";
constexpr std::string_view kGraphMode = "mode=\"reduce-overhead\"";
constexpr std::size_t kMostModules = 2;  // named
constexpr std::size_t kDearest = 4;      // lines that tell what a change is about

std::string parts_of_step(const Lines& lines) {
  const bool backward = any_has_text(lines, ".backward(");
  const bool optimizer = any_has_text(lines, "optimizer.step(") || any_has_text(lines, "optim.step(");
  const bool forward = std::any_of(lines.begin(), lines.end(), [](const SourceLine& each) {
    return !has_text(each, ".backward(") && !has_text(each, ".step(");
  });
  std::string words = forward ? "forward" : "";
  if (backward) words += words.empty() ? "backward" : " and backward";
  if (optimizer) words += words.empty() ? "the optimizer's step" : " and optimizer";
  return words;
}

// "LSTMCell", where most lines of the forward part run one; else empty.
std::string recurrent_cell(const Lines& lines) {
  std::string cell;
  std::size_t with = 0;
  std::size_t without = 0;
  for (std::size_t i = 0; i < std::min(kDearest, lines.size()); ++i) {
    const SourceLine& each = lines[i];
    const auto frame = std::find_if(each.stack.begin(), each.stack.end(), is_recurrent_cell);
    if (frame != each.stack.end()) {
      const std::string& function = frame->frame.function;
      cell = function.substr(0, function.rfind('.'));
      ++with;
    } else if (!has_text(each, ".backward(")) {
      ++without;
    }
  }
  return with > 0 && with >= without ? cell : std::string();
}

// The compiled module has other names for its parameters, and the module itself keeps them: checkpoints and averages
// stay as they are. Module.compile() gained next to nothing for PyTorch's own classes (2.11, timed).
void add_compile_words(const LaunchTarget& module, std::string_view mode, std::vector<std::string>& typed) {
  const bool is_given = module.is_librarys && !module.class_name.empty();
  const std::string more = mode.empty() ? std::string() : ", " + std::string(mode);
  if (module.name.empty() && !module.class_name.empty() && !is_given) {
    typed.push_back(format_text("above forward of {}: {}", module.class_name,
                                mode.empty() ? "@torch.compile" : format_text("@torch.compile({})", mode)));
  } else if (is_given) {
    typed.push_back(format_text("model.compile({}) before the loop; model: your {}", mode, module.class_name));
  } else if (module.name.empty()) {
    typed.push_back(
        format_text("before the loop, torch.compile(module{}) of the module that {} calls", more, module.called_at));
  } else {
    const std::string& name = module.name;
    const std::string short_name = name.substr(name.rfind('.') == std::string::npos ? 0 : name.rfind('.') + 1);
    typed.push_back(format_text("fast_{} = torch.compile({}{}) before the loop", short_name, name, more));
    typed.push_back(format_text("call fast_{} in place of {} in {}", short_name, name, module.called_at));
  }
}

std::vector<std::string> compile_modules(const std::vector<LaunchTarget>& modules, std::string_view mode) {
  std::vector<std::string> typed;
  for (std::size_t i = 0; i < std::min(kMostModules, modules.size()); ++i) add_compile_words(modules[i], mode, typed);
  if (modules.size() > kMostModules) typed.back() += format_text("; likewise {} more", modules.size() - kMostModules);
  return typed;
}

std::string plain_name(const std::string& function) {
  const std::string name = defined_name(function);
  return name.substr(name.rfind('.') == std::string::npos ? 0 : name.rfind('.') + 1);
}

// "loss"; "forward of Block", as many classes have one.
std::string definition_text(const std::string& function) {
  const std::string plain = plain_name(function);
  const std::string name = defined_name(function);
  if (plain != "forward" && plain != "__call__") return plain;
  const std::string owner = name.substr(0, name.size() - std::min(name.size(), plain.size() + 1));
  return owner.empty() ? plain : plain + " of " + owner.substr(owner.rfind('.') + 1);
}

std::string lines_text(const Lines& lines) {
  const auto [first, last] = std::minmax_element(
      lines.begin(), lines.end(), [](const SourceLine& a, const SourceLine& b) { return a.line < b.line; });
  return first->line == last->line ? format_text("line {}", first->line)
                                   : format_text("lines {} to {}", first->line, last->line);
}

}  // namespace

RemedyWords graph_words(Framework framework, const Lines& lines, const std::vector<LaunchTarget>& modules) {
  if (framework != Framework::kPyTorch) {
    return {"Put the kernels into a CUDA graph",
            {"cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal); ...; cudaStreamEndCapture(stream, &graph)",
             "cudaGraphInstantiate(&exec, graph, 0); then cudaGraphLaunch(exec, stream) in each step"}};
  }
  if (const std::string cell = recurrent_cell(lines); !cell.empty()) {
    const std::string layer = cell.substr(0, cell.size() - std::string_view("Cell").size());
    return {format_text("Use nn.{} over the whole sequence, not {} in a loop", layer, cell),
            {format_text("nn.{}(input_size, hidden_size, num_layers, batch_first=True) in place of the loop", layer),
             format_text("its weight_ih_l0 is the cell's weight_ih, and so on; only where no input needs an output")}};
  }
  return {format_text("Put {} into a CUDA graph", parts_of_step(lines)), compile_modules(modules, kGraphMode)};
}

RemedyWords fuse_words(const std::vector<LaunchTarget>& modules) {
  return {"Compile the model to fuse its small kernels", compile_modules(modules, {})};
}

std::string foreach_functions(const Lines& lines) {
  constexpr std::array<std::string_view, 7> kInPlace = {"mul_",     "add_",     "lerp_", "copy_",
                                                        "addcmul_", "addcdiv_", "sub_"};
  std::string names;
  for (const std::string_view name : kInPlace) {
    if (!any_has_text(lines, format_text(".{}(", name))) continue;
    names += format_text("{}torch._foreach_{}", names.empty() ? "" : ", ", name);
  }
  return names;
}

RemedyWords loop_words(Framework framework, const std::string& function, const Lines& lines) {
  const std::string plain = plain_name(function);
  const std::string define = format_text("above def {}: ", plain);
  std::string typed = "loop inside of one kernel, or capture the loop as a CUDA graph";
  const std::string foreach = framework == Framework::kPyTorch ? foreach_functions(lines) : std::string();
  if (!foreach.empty()) {
    return {format_text("Launch one kernel for all tensors of the loop in {}", defined_name(function)),
            {foreach + ": each takes the list of all tensors, in place of the loop"}};
  }
  if (framework == Framework::kPyTorch) typed = define + "@torch.compile; or one kernel of a library or of Triton";
  if (framework == Framework::kJax) typed = define + "@jax.jit, the loop as jax.lax.fori_loop";
  if (framework == Framework::kCupy) typed = define + "@cupy.fuse(); or one cupy.RawKernel";
  return {format_text("Make one kernel of the loop in {}", defined_name(function)), {std::move(typed)}};
}

// Lines of the steps' loop are no function yet. CuPy has no compiler for whole functions.
RemedyWords compile_words(Framework framework, const std::string& function, const Lines& lines) {
  const std::string what = function.empty() ? lines_text(lines) : defined_name(function);
  if (framework == Framework::kCupy) {
    return {format_text("Put {} into a CUDA graph", what),
            {format_text("stream.begin_capture(); {}; graph = stream.end_capture()",
                         function.empty() ? "those lines" : plain_name(function) + "(...)"),
             "then graph.launch(stream) in each step; elementwise code: @cupy.fuse() instead"}};
  }
  const std::string_view decorator = framework == Framework::kJax ? "@jax.jit" : kGraphDecorator;
  // JAX takes arrays and no objects, so it compiles no method.
  if (framework == Framework::kJax && defined_name(function).find('.') != std::string::npos)
    return {format_text("Compile {}", what),
            {format_text("move the jax calls of {} into a function of arrays, with @jax.jit above it",
                         plain_name(function)),
             "a loop over them: jax.vmap, or jax.lax.scan where each turn needs the last one"}};
  return {format_text("Compile {}", what),
          {function.empty() ? format_text("move {} into a function, with {} above it", what, decorator)
                            : format_text("above def {}: {}", definition_text(function), decorator)}};
}

}  // namespace synctrace
