// SPDX-License-Identifier: Apache-2.0
#include "attribution/stack_traits.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "code/compiler_code.h"
#include "names/resolve_stack.h"

namespace synctrace {
namespace {

// Files whose frames mean that the program asks for its next batch.
constexpr std::string_view kLoaderFiles[] = {"torch/utils/data/",       "torchdata/", "webdataset/", "nvidia/dali/",
                                             "tensorflow/python/data/", "grain/"};
constexpr std::string_view kCollectorFunctions[] = {"gc_collect_main", "gc_collect_region", "_PyGC_Collect",
                                                    "PyGC_Collect", "gc_collect_generations"};
// Who gives the lock away waits until another thread that asked for it has taken it.
constexpr std::string_view kLockFunctions[] = {"take_gil", "PyEval_RestoreThread", "PyEval_AcquireThread",
                                               "drop_gil", "PyEval_SaveThread",    "PyEval_ReleaseThread"};
// PyTorch's operators whose result's size is known on the device alone, by the begin of their names. A mask as an index
// goes through nonzero.
constexpr std::string_view kOperatorPlaces[] = {"at::native::", "at::_ops::", "aten::"};
constexpr std::string_view kDynamicOperators[] = {"nonzero", "argwhere", "masked_select",
                                                  "unique",  "_unique",  "repeat_interleave"};

// Prints a tensor. It selects by masks on the way, but what the program asked for is numbers.
constexpr std::string_view kPrinter = "torch/_tensor_str.py";

bool has_dynamic_shape(std::string function) {
  constexpr std::string_view kAnonymous = "(anonymous namespace)::";
  for (std::size_t at = function.find(kAnonymous); at != std::string::npos; at = function.find(kAnonymous)) {
    function.erase(at, kAnonymous.size());
  }
  const std::string_view name = std::string_view(function).substr(0, function.find('('));
  for (const std::string_view place : kOperatorPlaces) {
    const std::size_t at = name.find(place);
    if (at == std::string_view::npos) continue;
    const auto begins = [&](std::string_view begin) { return name.substr(at + place.size()).starts_with(begin); };
    if (std::any_of(std::begin(kDynamicOperators), std::end(kDynamicOperators), begins)) return true;
  }
  return false;
}

std::uint64_t hash_of_line(const ResolvedFrame& frame) {
  return std::hash<std::string>{}(frame.file) * 31 + frame.line;
}

template <std::size_t count>
bool is_one_of(const std::string_view (&names)[count], std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

}  // namespace

StackReader::StackReader(const Trace& trace) : trace_(trace), user_code_(std::string(fact(trace, "executable"))) {}

StackTraits StackReader::traits(StackId stack) const {
  if (number(stack) == 0) return {};
  Late& late = lately_[number(stack) % lately_.size()];
  if (late.stack != stack) late = {stack, find_traits(stack)};
  return late.traits;
}

bool StackReader::is_whole(StackId stack) const {
  const auto frames = trace_.stacks.find(stack);
  if (frames == trace_.stacks.end()) return false;
  return std::all_of(frames->second.begin(), frames->second.end(), [&](const StackFrame& frame) {
    return frame.kind != StackFrame::Kind::kPython || trace_.codes.contains(frame.code);
  });
}

StackTraits StackReader::find_traits(StackId stack) const {
  const auto [entry, is_new] = known_.try_emplace(stack);
  if (!is_new) return entry->second;
  StackTraits traits;
  bool prints = false;
  traits.incomplete = !is_whole(stack);
  const std::vector<ResolvedFrame> frames = resolve_stack(trace_, stack);
  const ChosenFrame chosen = choose_frame(frames, user_code_);
  traits.user = chosen.basis == FrameBasis::kUserCode;
  if (traits.user) traits.user_line = hash_of_line(frames[chosen.index]);
  for (const ResolvedFrame& frame : frames) {
    const bool in_loader_file =
        std::any_of(std::begin(kLoaderFiles), std::end(kLoaderFiles),
                    [&](std::string_view part) { return frame.file.find(part) != std::string::npos; });
    if (frame.kind == FrameKind::kPython && !traits.python) {
      traits.python = true;
      traits.python_line = hash_of_line(frame);
    }
    if (in_loader_file) traits.loader = true;
    if (frame.file.ends_with(kPrinter)) prints = true;
    if (is_one_of(kCollectorFunctions, frame.function)) traits.collector = true;
    if (frame.kind == FrameKind::kPython && is_compiler_code(frame.file, frame.function)) traits.compiler = true;
    if (frame.kind == FrameKind::kNative && is_native_compiler_code(frame.function)) traits.compiler = true;
    if (is_one_of(kLockFunctions, frame.function)) traits.gil = true;
    if (frame.kind == FrameKind::kNative && has_dynamic_shape(frame.function)) traits.dynamic_shape = true;
  }
  if (prints) traits.dynamic_shape = false;
  known_[stack] = traits;
  return traits;
}

}  // namespace synctrace
