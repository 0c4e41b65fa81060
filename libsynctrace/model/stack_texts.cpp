// SPDX-License-Identifier: Apache-2.0
#include "model/stack_texts.h"

#include <algorithm>
#include <vector>

namespace synctrace {
namespace {

// Real stacks have some 100 bytes of names a frame.
constexpr std::uint64_t kBytesOfAFrame = 512;
constexpr std::uint64_t kBytesAtLeast = std::uint64_t{64} << 20;

std::uint64_t text_bytes(const Trace& trace, const StackFrame& frame) {
  if (frame.kind == StackFrame::Kind::kPython) {
    const auto code = trace.codes.find(frame.code);
    return code == trace.codes.end() ? 0 : code->second.function.size() + code->second.file.size();
  }
  if (frame.kind != StackFrame::Kind::kNative) return 0;
  std::uint64_t bytes = 0;
  if (const auto symbol = trace.symbols.find(frame.native); symbol != trace.symbols.end()) {
    for (const ResolvedFrame& one : symbol->second) bytes += one.function.size() + one.file.size();
  }
  if (const auto module = trace.modules.find(frame.native.module); module != trace.modules.end())
    bytes += module->second.path.size();
  return bytes;
}

}  // namespace

std::uint64_t cut_swollen_stacks(Trace& trace) {
  std::vector<StackId> ids;
  std::uint64_t frames = 0;
  for (const auto& [id, stack] : trace.stacks) {
    ids.push_back(id);
    frames += stack.size();
  }
  std::sort(ids.begin(), ids.end());
  const std::uint64_t most_bytes = kBytesAtLeast + kBytesOfAFrame * frames;
  std::uint64_t bytes = 0;
  std::uint64_t cut = 0;
  for (const StackId id : ids) {
    std::vector<StackFrame>& stack = trace.stacks[id];
    std::uint64_t of_stack = 0;
    for (const StackFrame& frame : stack) of_stack += text_bytes(trace, frame);
    bytes += of_stack;
    if (bytes <= most_bytes) continue;
    bytes -= of_stack;
    stack.assign(1, StackFrame{});
    stack.front().kind = StackFrame::Kind::kMissing;
    ++cut;
  }
  return cut;
}

}  // namespace synctrace
