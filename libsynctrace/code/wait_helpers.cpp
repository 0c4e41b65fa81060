// SPDX-License-Identifier: Apache-2.0
#include "code/wait_helpers.h"

#include <algorithm>

#include "base/name_text.h"
#include "code/code_places.h"

namespace synctrace {
namespace {

std::string key_of(std::string_view file, std::string_view function) {
  std::string key(file);
  key += '\n';
  key += function;
  return key;
}

// A model's forward is called by whoever runs the model: its callers say nothing about a wait in it.
bool is_forward(std::string_view function) {
  function = function.substr(0, function.find('('));
  const std::string_view name = function.substr(function.find_last_of(".:") + 1);
  return name == "forward" || name == "__call__" || function == "<module>";
}

// A function inside of another one of Python, such as a comprehension, has that one's name before its own.
bool is_same_function(const ResolvedFrame& called, const ResolvedFrame& caller) {
  if (called.file != caller.file) return false;
  const std::string& outer = called.function;
  const std::string& inner = caller.function;
  return inner == outer || (inner.starts_with(outer) && inner.substr(outer.size()).starts_with(".<locals>."));
}

// Python's own wrappers around a function: `@torch.no_grad()`, `@contextmanager`, `@functools.wraps`.
bool is_decorator(const ResolvedFrame& frame) {
  if (frame.kind != FrameKind::kPython) return false;
  const std::string_view file = frame.file;
  return file.ends_with("contextlib.py") || file.ends_with("/functools.py") ||
         file.ends_with("torch/amp/autocast_mode.py");
}

// The interpreter between two functions of Python.
bool is_interpreters(const ResolvedFrame& frame) {
  return frame.kind == FrameKind::kNative && (frame.is_eval_loop || places::is_interpreter(frame.module));
}

}  // namespace

std::size_t WaitHelpers::caller_of(std::span<const ResolvedFrame> stack, std::size_t index) const {
  for (std::size_t i = index + 1; i < stack.size(); ++i) {
    const ResolvedFrame& frame = stack[i];
    if (is_decorator(frame) || is_interpreters(frame)) continue;
    const bool has_line = !frame.file.empty() && frame.line > 0;
    return has_line && frame.kind == stack[index].kind && code_.owner_of(frame) == CodeOwner::kUser ? i : stack.size();
  }
  return stack.size();
}

WaitHelpers::Chain WaitHelpers::chain_of(std::span<const ResolvedFrame> stack, const ChosenFrame& innermost) const {
  Chain chain;
  if (innermost.basis != FrameBasis::kUserCode || stack[innermost.index].line == 0) return chain;
  for (std::size_t at = innermost.index; at < stack.size() && chain.count < chain.frames.size();
       at = caller_of(stack, at))
    chain.frames[chain.count++] = at;
  return chain;
}

void WaitHelpers::add_wait(std::span<const ResolvedFrame> stack, std::uint8_t what) {
  const Chain chain = chain_of(stack, choose_frame(stack, code_));
  for (std::size_t i = 0; i + 1 < chain.count; ++i) {
    const ResolvedFrame& frame = stack[chain.frames[i]];
    const ResolvedFrame& caller = stack[chain.frames[i + 1]];
    Function& function = functions_[key_of(frame.file, frame.function)];
    if ((what & kWait) != 0) function.wait_lines.insert(frame.line);
    if ((what & kCopy) != 0) function.copy_lines.insert(frame.line);
    callers_[key_of(frame.file, family_text(frame.function))].emplace(key_of(caller.file, caller.function),
                                                                      caller.line);
    bool is_recursive = false;
    for (std::size_t k = i + 1; k < chain.count; ++k)
      is_recursive = is_recursive || is_same_function(frame, stack[chain.frames[k]]);
    if (is_recursive || is_forward(frame.function)) function.does_more = true;
  }
}

void WaitHelpers::add_launch(std::span<const ResolvedFrame> stack) {
  const ChosenFrame chosen = choose_frame(stack, code_);
  if (chosen.basis != FrameBasis::kUserCode) return;
  const auto in_a_model = [](const ResolvedFrame& frame) { return frame.file.find("/torch/nn/") != std::string::npos; };
  const bool is_model =
      std::any_of(stack.begin(), stack.begin() + static_cast<std::ptrdiff_t>(chosen.index), in_a_model);
  for (std::size_t i = chosen.index; i < stack.size(); ++i) {
    const auto known = functions_.find(key_of(stack[i].file, stack[i].function));
    if (known == functions_.end()) continue;
    // What it waits for in the same statement, as `x.float().cpu()` does, is part of the wait.
    Function& function = known->second;
    const std::uint32_t line = stack[i].line;
    const bool is_at_wait = function.wait_lines.contains(line) || function.copy_lines.contains(line);
    if (i != chosen.index || is_model || !is_at_wait) function.does_more = true;
  }
}

// A function that reads several values in several lines shows more by itself than its callers do.
bool WaitHelpers::is_small(const Function& function) {
  return !function.does_more && function.wait_lines.size() <= 1 && function.copy_lines.size() <= 1;
}

const WaitHelpers::Function* WaitHelpers::helper_at(const ResolvedFrame& frame) const {
  const auto known = functions_.find(key_of(frame.file, frame.function));
  if (known == functions_.end() || !is_small(known->second)) return nullptr;
  const Function& function = known->second;
  const bool waits = function.wait_lines.contains(frame.line) || function.copy_lines.contains(frame.line);
  return waits ? &function : nullptr;
}

bool WaitHelpers::callers_differ(const ResolvedFrame& frame) const {
  const auto known = callers_.find(key_of(frame.file, family_text(frame.function)));
  return known != callers_.end() && known->second.size() > 1;
}

bool WaitHelpers::any() const {
  return std::any_of(callers_.begin(), callers_.end(), [](const auto& one) { return one.second.size() > 1; });
}

bool WaitHelpers::may_be_helper(std::string_view file, std::string_view function) const {
  const auto known = functions_.find(key_of(file, function));
  return known != functions_.end() && is_small(known->second);
}

WaitHelpers::Shown WaitHelpers::shown_frame(std::span<const ResolvedFrame> stack, const ChosenFrame& innermost) const {
  Shown result{innermost.index, innermost.index};
  if (functions_.empty() || innermost.basis != FrameBasis::kUserCode || helper_at(stack[innermost.index]) == nullptr)
    return result;
  const Chain chain = chain_of(stack, innermost);
  for (std::size_t i = 0; i + 1 < chain.count; ++i) {
    const Function* function = helper_at(stack[chain.frames[i]]);
    if (function == nullptr) break;
    if (callers_differ(stack[chain.frames[i]])) result = {chain.frames[i + 1], chain.frames[i]};
  }
  return result;
}

}  // namespace synctrace
