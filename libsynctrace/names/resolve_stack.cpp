// SPDX-License-Identifier: Apache-2.0
#include "names/resolve_stack.h"

#include <span>
#include <utility>

#include "model/stacks.h"
#include "names/python_lines.h"

namespace synctrace {
namespace {

ResolvedFrame missing_frame() {
  ResolvedFrame frame;
  frame.kind = FrameKind::kMissing;
  return frame;
}

// Takes frames while there is room for them.
class BoundedStack {
 public:
  // False when it was full before.
  bool add(ResolvedFrame frame) {
    text_bytes_ += frame.function.size() + frame.file.size() + frame.module.size();
    if (frames_.size() + 1 >= kMostStackFrames || text_bytes_ > kMostStackText) {
      frames_.push_back(missing_frame());
      return false;
    }
    frames_.push_back(std::move(frame));
    return true;
  }
  std::vector<ResolvedFrame> take() { return std::move(frames_); }

 private:
  std::vector<ResolvedFrame> frames_;
  std::size_t text_bytes_ = 0;
};

// The frames at one place in code, innermost first, never none.
std::vector<ResolvedFrame> resolve_address(const Trace& trace, const CodeAddress& address) {
  const auto known = trace.symbols.find(address);
  std::vector<ResolvedFrame> frames;
  if (known != trace.symbols.end())
    frames = known->second;
  else
    frames.emplace_back();
  const auto module = trace.modules.find(address.module);
  const std::string path = module == trace.modules.end() ? std::string() : module->second.path;
  for (ResolvedFrame& frame : frames) {
    frame.module = path;
    if (frame.function.empty()) frame.function = offset_text(path, address.address);
  }
  return frames;
}

}  // namespace

ResolvedFrame resolve_code(const Code& code, std::int32_t offset_bytes) {
  const SourceRange range = find_range(line_table_format(code.python_version),
                                       std::as_bytes(std::span(code.line_table)), code.first_line, offset_bytes);
  ResolvedFrame frame;
  frame.kind = FrameKind::kPython;
  frame.named = !code.function.empty();
  frame.line = range.line > 0 ? static_cast<std::uint32_t>(range.line) : 0;
  frame.column = range.column >= 0 ? static_cast<std::uint32_t>(range.column) + 1 : 0;
  frame.function = code.function;
  frame.file = code.file;
  return frame;
}

std::uint32_t lowest_line_behind(const Code& code, std::int32_t offset_bytes, bool but_last) {
  const std::int32_t line =
      lowest_line_behind(line_table_format(code.python_version), std::as_bytes(std::span(code.line_table)),
                         code.first_line, offset_bytes, but_last);
  return line > 0 ? static_cast<std::uint32_t>(line) : 0;
}

std::vector<ResolvedFrame> resolve_stack(const Trace& trace, StackId stack) {
  const auto found = trace.stacks.find(stack);
  if (found == trace.stacks.end()) return {};
  BoundedStack result;
  bool next_is_eval_loop = false;
  for (const StackFrame& frame : found->second) {
    bool has_room = true;
    switch (frame.kind) {
      case StackFrame::Kind::kPython:
        next_is_eval_loop = frame.is_entry;
        if (const auto code = trace.codes.find(frame.code); code != trace.codes.end())
          has_room = result.add(resolve_code(code->second, frame.offset_bytes));
        break;
      case StackFrame::Kind::kNative:
        for (ResolvedFrame& native : resolve_address(trace, frame.native)) {
          native.is_eval_loop = next_is_eval_loop;
          if (has_room) has_room = result.add(std::move(native));
        }
        next_is_eval_loop = false;
        break;
      case StackFrame::Kind::kMissing:
        next_is_eval_loop = false;
        has_room = result.add(missing_frame());
        break;
      case StackFrame::Kind::kUnordered: next_is_eval_loop = false; break;
    }
    if (!has_room) break;
  }
  return result.take();
}

}  // namespace synctrace
