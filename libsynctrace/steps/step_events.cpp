// SPDX-License-Identifier: Apache-2.0
#include "steps/step_events.h"

#include <algorithm>
#include <array>
#include <map>

#include "code/code_places.h"
#include "names/resolve_stack.h"
#include "steps/step_limits.h"

namespace synctrace {
namespace {

bool is_python(const StackFrame& frame) { return frame.kind == StackFrame::Kind::kPython; }

const ResolvedFrame* symbol_of(const Trace& trace, const StackFrame& frame) {
  const auto found = trace.symbols.find(frame.native);
  return found == trace.symbols.end() ? nullptr : &found->second.back();
}

}  // namespace

bool is_model_code(std::string_view file, std::string_view function) noexcept {
  return function == "forward" || function.ends_with(".forward") || file.ends_with("nn/modules/module.py");
}

bool is_optimizer_code(std::string_view file) noexcept {
  constexpr std::array<std::string_view, 4> kFolders = {"/optim/", "/optimizers/", "/optax/", "/optimizer/"};
  return std::any_of(kFolders.begin(), kFolders.end(),
                     [&](std::string_view folder) { return file.find(folder) != std::string_view::npos; });
}

bool is_called_back(const Trace& trace, StackId stack) {
  const auto frames = trace.stacks.find(stack);
  if (frames == trace.stacks.end()) return false;
  const auto outermost = std::find_if(frames->second.rbegin(), frames->second.rend(), is_python);
  if (outermost != frames->second.rend()) {
    const auto code = trace.codes.find(outermost->code);
    return code != trace.codes.end() && places::is_framework_source(code->second.file);
  }
  return std::any_of(frames->second.begin(), frames->second.end(), [&](const StackFrame& frame) {
    const ResolvedFrame* symbol = frame.kind == StackFrame::Kind::kNative ? symbol_of(trace, frame) : nullptr;
    return symbol != nullptr && symbol->function.starts_with("torch::autograd::Engine::thread_main");
  });
}

bool StepEvents::is_in_module(const StackFrame& frame) const {
  if (frame.kind != StackFrame::Kind::kPython) return false;
  const auto code = trace_.codes.find(frame.code);
  return code != trace_.codes.end() &&
         (is_model_code(code->second.file, code->second.function) || is_optimizer_code(code->second.file));
}

const std::vector<StepEvents::Event>& StepEvents::all() {
  if (!is_read_) read();
  is_read_ = true;
  return events_;
}

void StepEvents::read() {
  std::map<ThreadId, std::size_t> counts;
  std::unordered_map<StackId, bool> called_back;
  const auto is_elsewhere = [&](StackId stack) {
    const auto [entry, is_new] = called_back.try_emplace(stack, false);
    if (is_new) entry->second = is_called_back(trace_, stack);
    return entry->second;
  };
  const auto count = [&](const auto& rows) {
    for (const auto& row : rows) {
      if (number(row.stack) != 0 && !is_elsewhere(row.stack)) ++counts[row.thread];
    }
  };
  count(trace_.calls);
  count(trace_.launches);
  const auto most =
      std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most == counts.end()) return;
  events_.reserve(most->second);
  const auto add = [&](const auto& rows) {
    for (const auto& row : rows) {
      if (row.thread == most->first && number(row.stack) != 0) events_.push_back({row.span.begin_ns, row.stack});
    }
  };
  add(trace_.calls);
  add(trace_.launches);
  // Where it waits for its input, the loop's own line shows.
  add(trace_.host_waits);
  std::stable_sort(events_.begin(), events_.end(),
                   [](const Event& a, const Event& b) { return a.time_ns < b.time_ns; });
}

std::uint32_t StepEvents::function_of(const StackFrame& frame) {
  const auto number_of = [&](auto& table, const auto& key) {
    const auto [entry, is_new] = table.try_emplace(key, function_count_);
    if (is_new) ++function_count_;
    return entry->second;
  };
  if (frame.kind == StackFrame::Kind::kPython) return number_of(codes_, frame.code);
  const ResolvedFrame* symbol = symbol_of(trace_, frame);
  return number_of(functions_, symbol != nullptr ? symbol->function : offset_text("", frame.native.address));
}

const StepEvents::Frames& StepEvents::frames(StackId stack) {
  const auto [entry, is_new] = frames_.try_emplace(stack);
  const auto raw = trace_.stacks.find(stack);
  if (!is_new || raw == trace_.stacks.end()) return entry->second;
  const bool python = std::any_of(raw->second.begin(), raw->second.end(), is_python);
  for (auto frame = raw->second.rbegin(); frame != raw->second.rend(); ++frame) {
    if (entry->second.spots.size() == kDeepestFrame) break;
    if (python ? !is_python(*frame) : frame->kind != StackFrame::Kind::kNative) continue;
    const std::uint64_t position =
        python ? static_cast<std::uint64_t>(std::max(frame->offset_bytes, -1) + 1) : frame->native.address;
    entry->second.spots.push_back({function_of(*frame), position});
    entry->second.frames.push_back(*frame);
    if (entry->second.module_depth + 1 == entry->second.spots.size() && !is_in_module(*frame))
      ++entry->second.module_depth;
  }
  return entry->second;
}

const std::vector<StepEvents::Spot>& StepEvents::spots(StackId stack) { return frames(stack).spots; }

bool StepEvents::can_loop(StackId stack, std::size_t depth, std::uint64_t first, std::uint64_t last, bool but_last) {
  constexpr std::uint32_t kJumpsHaveLines = 0x030c0000;
  const StackFrame& frame = frames(stack).frames[depth];
  const auto code = trace_.codes.find(frame.code);
  if (frame.kind != StackFrame::Kind::kPython || code == trace_.codes.end()) return true;
  // A generator expression is a loop, on one line mostly.
  if (code->second.python_version < kJumpsHaveLines || code->second.function.ends_with("<genexpr>")) return true;
  const auto offset_of = [](std::uint64_t position) { return static_cast<std::int32_t>(position) - 1; };
  const std::uint32_t first_line = resolve_code(code->second, offset_of(first)).line;
  const std::uint32_t last_line = resolve_code(code->second, offset_of(last)).line;
  const std::uint32_t lowest = lowest_line_behind(code->second, offset_of(last), but_last);
  if (first_line == 0 || last_line == 0) return true;
  // More of the same line behind it is no jump.
  const std::uint32_t header = first_line == last_line ? first_line - 1 : first_line;
  return lowest > 0 && lowest <= header;
}

ResolvedFrame StepEvents::frame(StackId stack, std::size_t depth) {
  const StackFrame& frame = frames(stack).frames[depth];
  if (frame.kind == StackFrame::Kind::kPython) {
    const auto code = trace_.codes.find(frame.code);
    return code == trace_.codes.end() ? ResolvedFrame{} : resolve_code(code->second, frame.offset_bytes);
  }
  const ResolvedFrame* symbol = symbol_of(trace_, frame);
  return symbol == nullptr ? ResolvedFrame{} : *symbol;
}

}  // namespace synctrace
