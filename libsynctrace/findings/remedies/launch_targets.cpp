// SPDX-License-Identifier: Apache-2.0
#include "findings/remedies/launch_targets.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "attribution/wait_table.h"
#include "base/shown_text.h"
#include "findings/remedies/frameworks.h"
#include "names/resolve_stack.h"

namespace synctrace {
namespace {

constexpr std::size_t kMostStacks = 4'096;  // launches' and waits', each
// It logs through the trainer, which no graph holds; the modules that it calls can be compiled.
constexpr std::string_view kLightningStep = "training_step";
constexpr std::size_t kRareSteps = 10;         // a wait in fewer than one of so many steps breaks no graph
constexpr Nanoseconds kLeastSleepNs = 50'000;  // a shorter sleep in no CUDA call may be for a lock

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

// What autograd launches is in no function that torch.compile takes as a whole. Recurrent networks of PyTorch's own it
// does not take at all (PyTorch 2.11: timed, no gain).
bool ends_a_graph(const ShownFrame& frame) {
  const bool is_layer = has(frame.frame.file, "/torch/nn/modules/rnn.py") && !is_recurrent_cell(frame);
  return is_layer || has(frame.frame.file, "/torch/autograd/");
}

// It fetches the samples of a batch, and puts them together.
bool is_of_loader(const ShownFrame& frame) {
  return has(frame.frame.file, "/torch/utils/data/_utils/fetch.py") ||
         has(frame.frame.file, "/torch/utils/data/_utils/collate.py");
}

bool is_in_no_graph(const std::vector<ShownFrame>& stack) {
  return is_of_optimizer(stack) || std::any_of(stack.begin(), stack.end(), ends_a_graph);
}

bool is_of_framework(const std::string& whole) {
  const std::string_view file = within_packages(whole);
  constexpr std::array<std::string_view, 7> kFrameworks = {"/torch/",  "/jax/",   "/jaxlib/",       "/cupy/",
                                                           "/triton/", "/numpy/", "importlib._boot"};
  return std::any_of(kFrameworks.begin(), kFrameworks.end(),
                     [&](std::string_view part) { return file.find(part) != std::string_view::npos; });
}

std::string_view plain_name(std::string_view function) { return function.substr(function.rfind('.') + 1); }

bool can_be_named(std::string_view function) {
  return !function.empty() && function.find('<') == std::string_view::npos;
}

bool is_main(const std::string& function) { return function == "main" || function == "<module>"; }

// "GPT" of "GPT.forward" or "build.<locals>.GPT.forward".
std::string class_of(std::string_view method) {
  const std::size_t dot = method.rfind('.');
  return dot == std::string_view::npos ? std::string() : std::string(plain_name(method.substr(0, dot)));
}

bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.'; }

// The frames of Python on a stack, as a report shows them.
std::vector<ShownFrame> python_frames(const Trace& trace, StackId stack) {
  std::vector<ShownFrame> shown;
  for (ResolvedFrame& frame : resolve_stack(trace, stack)) {
    if (frame.kind != FrameKind::kPython) continue;
    std::string source = printable(source_text(trace, frame));
    frame.function = printable(frame.function);
    frame.file = printable(frame.file);
    shown.push_back({std::move(frame), std::move(source)});
  }
  return shown;
}

bool is_jaxs(const std::vector<ShownFrame>& frames) {
  return std::any_of(frames.begin(), frames.end(),
                     [](const ShownFrame& each) { return has(each.frame.file, "/jax/"); });
}

// Sleeps elsewhere in JAX hand an operation to another thread, and go when the function is compiled.
bool reads_jax_array(const std::vector<ShownFrame>& frames) {
  return std::any_of(frames.begin(), frames.end(), [](const ShownFrame& each) {
    return has(each.frame.file, "/jax/_src/array.py") || has(each.frame.function, "block_until_ready") ||
           has(each.frame.function, "device_get");
  });
}

}  // namespace

std::string called_variable(const std::string& source) {
  constexpr std::array<std::string_view, 18> kCommon = {"print", "len",  "range", "float",     "int",   "list",
                                                        "tuple", "dict", "zip",   "enumerate", "next",  "max",
                                                        "min",   "sum",  "str",   "iter",      "super", "sorted"};
  std::vector<std::string> found;
  for (std::size_t at = source.find('('); at != std::string::npos; at = source.find('(', at + 1)) {
    std::size_t begin = at;
    while (begin > 0 && is_name(source[begin - 1])) --begin;
    const std::string name = source.substr(begin, at - begin);
    const bool is_own = !name.empty() && name.front() != '.' && !std::isdigit(static_cast<unsigned char>(name.front()));
    const bool is_plain = name.find('.') == std::string::npos || (name.starts_with("self.") && name.rfind('.') == 4);
    const bool is_loss = name.find("loss") != std::string::npos || name.find("criterion") != std::string::npos;
    if (!is_own || !is_plain || is_loss || std::find(kCommon.begin(), kCommon.end(), name) != kCommon.end()) continue;
    if (std::find(found.begin(), found.end(), name) == found.end()) found.push_back(name);
  }
  return found.size() == 1 ? found.front() : std::string();
}

LaunchTargets::LaunchTargets(const Trace& trace, const StepsReport& loop, const UserCode& user_code)
    : user_code_(user_code), loop_(loop.where.file, loop.source == "nvtx" ? std::string() : loop.name) {
  const std::size_t least = std::max<std::size_t>(1, loop.figures.count / kRareSteps);
  std::map<StackId, std::size_t> waits;
  std::map<StackId, std::size_t> uploads;
  std::map<StackId, std::size_t> sleeps;
  std::map<StackId, std::size_t> launches;
  for (const Call& call : trace.calls) {
    const bool is_upload = call.copy_kind == CopyKind::kHostToDevice;
    if (number(call.stack) != 0 && fits_no_graph(call)) ++(is_upload ? uploads : waits)[call.stack];
  }
  for (const HostWait& wait : trace.host_waits) {
    if (number(wait.stack) != 0 && wait.span.length_ns() >= kLeastSleepNs) ++sleeps[wait.stack];
  }
  for (const Launch& launch : trace.launches) {
    if (number(launch.stack) != 0) ++launches[launch.stack];
  }
  std::size_t looked = 0;
  for (const auto& [stack, count] : waits) {
    if (count >= least && ++looked <= kMostStacks) hold(python_frames(trace, stack), true);
  }
  for (const auto& [stack, count] : uploads) {  // the numbers that JAX copies become constants of compiled code
    if (count < least || ++looked > kMostStacks) continue;
    const std::vector<ShownFrame> frames = python_frames(trace, stack);
    if (!is_jaxs(frames)) hold(frames, true);
  }
  for (const auto& [stack, count] : sleeps) {  // JAX waits for the GPU in no call of CUDA's
    if (count < least || ++looked > kMostStacks) continue;
    const std::vector<ShownFrame> frames = python_frames(trace, stack);
    if (reads_jax_array(frames)) hold(frames, true);
  }
  std::vector<CountedStack> stacks;
  for (const auto& [stack, count] : launches) {
    if (stacks.size() == kMostStacks) break;
    stacks.emplace_back(count, python_frames(trace, stack));
    any_backward_ =
        any_backward_ || std::any_of(stacks.back().second.begin(), stacks.back().second.end(),
                                     [](const ShownFrame& each) { return has(each.frame.file, "/torch/autograd/"); });
    loads_from_gpu_ =
        loads_from_gpu_ || std::any_of(stacks.back().second.begin(), stacks.back().second.end(), is_of_loader);
    if (is_in_no_graph(stacks.back().second)) hold(stacks.back().second, false);
  }
  find_modules(std::move(stacks), least);
}

// Modules that run less than once in ten steps are not what makes a step slow.
void LaunchTargets::find_modules(std::vector<CountedStack> stacks, std::size_t least) {
  struct Counted {
    std::size_t launched = 0;
    std::size_t most_often = 0;  // one stack of it
    LaunchTarget target;
  };
  std::map<std::string, Counted> modules;  // by what is to be typed
  for (auto& [count, frames] : stacks) {
    LaunchTarget target = !is_in_no_graph(frames) ? of({{}, 0, {}, {}, std::move(frames)}) : LaunchTarget();
    if (target.kind != LaunchTarget::Kind::kModule) continue;
    const std::string key = !target.name.empty()         ? "1 " + target.name
                            : !target.class_name.empty() ? "2 " + target.class_name
                                                         : "3 " + target.called_at;
    Counted& module = modules.try_emplace(key, Counted{0, 0, std::move(target)}).first->second;
    module.launched += count;
    module.most_often = std::max(module.most_often, count);
  }
  std::vector<std::pair<std::size_t, LaunchTarget>> by_count;
  for (auto& [key, module] : modules) {
    if (module.most_often >= least) by_count.emplace_back(module.launched, std::move(module.target));
  }
  std::stable_sort(by_count.begin(), by_count.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  for (auto& [count, target] : by_count) modules_.push_back(std::move(target));
}

// All functions on the stack, or those outside of backward and the optimizer, have such a line in them.
void LaunchTargets::hold(const std::vector<ShownFrame>& stack, bool is_wait) {
  bool is_outside = is_wait;
  const ShownFrame* innermost = nullptr;
  for (const ShownFrame& each : stack) {
    is_outside = is_outside || ends_a_graph(each) || has(each.frame.file, "/torch/optim/");
    if (!is_outside) continue;
    if (innermost == nullptr && !is_of_framework(each.frame.file)) innermost = &each;
    Held& held = held_[{each.frame.file, each.frame.function}];
    held.lines.insert(each.frame.line);
    if (is_wait && !held.wait.known() && innermost != nullptr)
      held.wait = {innermost->frame.file, innermost->frame.line, innermost->frame.function, innermost->source, {}};
  }
}

bool LaunchTargets::is_held(const std::string& file, const std::string& function) const {
  return held_.contains({file, function}) || (file == loop_.first && function == loop_.second);
}

bool LaunchTargets::can_be_compiled(const SourceLine& where) const {
  return can_be_named(plain_name(where.function)) && !is_main(where.function) && !is_held(where.file, where.function);
}

LaunchTarget LaunchTargets::of(const SourceLine& where) const {
  std::vector<const ShownFrame*> frames;  // outermost first, Python's own
  for (auto frame = where.stack.rbegin(); frame != where.stack.rend(); ++frame) {
    if (frame->frame.kind == FrameKind::kPython) frames.push_back(&*frame);
  }
  const auto loop = std::find_if(frames.begin(), frames.end(), [&](const ShownFrame* each) {
    return !loop_.second.empty() && each->frame.file == loop_.first && each->frame.function == loop_.second;
  });
  // A function that JAX calls for each array of a tree, by jax.tree.map, has no loop of steps.
  const bool is_tree =
      loop != frames.end() && loop + 1 != frames.end() && has((*(loop + 1))->frame.file, "/jax/_src/tree");
  auto from = loop == frames.end() ? frames.begin() : is_tree ? loop : loop + 1;
  if (loop == frames.end()) {  // one of the outermost functions holds the loop
    while (from != frames.end() && is_main((*from)->frame.function)) ++from;
  }
  for (auto each = from; each != frames.end(); ++each) {
    const ResolvedFrame& frame = (*each)->frame;
    const bool is_forward = each != frames.begin() && is_module_call(**(each - 1)) && !is_module_call(**each);
    const bool is_theirs = !is_users(frame);
    const bool is_held_here =
        is_tree && each == loop ? held_.contains({frame.file, frame.function}) : is_held(frame.file, frame.function);
    if ((is_theirs && !is_forward) || is_held_here) continue;
    if (!can_be_named(plain_name(frame.function)) || plain_name(frame.function) == kLightningStep) continue;
    auto call = each;
    while (is_forward && call != frames.begin() && (call == each || is_module_call(**call))) --call;
    // What a module that waits calls is compiled by its own forward, without backward.
    const bool is_inner =
        std::any_of(frames.begin(), call, [](const ShownFrame* outer) { return is_module_call(*outer); });
    if (is_inner && is_theirs) continue;
    if (!is_forward || is_inner) return {LaunchTarget::Kind::kFunction, frame.function, {}, false, {}, 0};
    // The loop's own variable, or a module whose class cannot be changed, is compiled where it is called.
    const bool is_in_loop = loop != frames.end() ? call == loop : is_main((*call)->frame.function);
    const ResolvedFrame& caller = (*call)->frame;
    const bool is_given = !is_users(caller);
    const bool has_variable = (is_in_loop || is_theirs) && !is_given;
    const bool has_class = !is_theirs || (is_given && !is_of_framework(frame.file));
    return {LaunchTarget::Kind::kModule,
            has_variable ? called_variable((*call)->source) : std::string(),
            has_class ? class_of(frame.function) : std::string(),
            is_theirs && is_given,
            caller.file.substr(caller.file.rfind('/') + 1) + ":" + std::to_string(caller.line),
            0};
  }
  if (where.through.is_library) return {};
  const bool is_in_loop = loop != frames.end() && where.file == loop_.first && where.function == loop_.second;
  if (!is_in_loop) return {};
  const auto held = held_.find(loop_);
  std::uint32_t piece = 0;
  if (held != held_.end()) {
    if (held->second.lines.contains(where.line)) return {};
    piece = static_cast<std::uint32_t>(
        std::distance(held->second.lines.begin(), held->second.lines.lower_bound(where.line)));
  }
  return {LaunchTarget::Kind::kLines, where.function, {}, false, {}, piece};
}

SourceLine LaunchTargets::obstacle(const SourceLine& where) const {
  for (const ShownFrame& each : where.stack) {
    const auto held = held_.find({each.frame.file, each.frame.function});
    if (held != held_.end() && held->second.wait.known()) return held->second.wait;
  }
  return {};
}

}  // namespace synctrace
