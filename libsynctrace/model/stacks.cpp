// SPDX-License-Identifier: Apache-2.0
#include "model/stacks.h"

#include <algorithm>
#include <charconv>
#include <span>

#include "model/python_lines.h"

namespace synctrace {
namespace {

template <class Number>
bool take_number(std::string_view& text, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

bool take_char(std::string_view& text, char wanted) {
  if (text.empty() || text.front() != wanted) return false;
  text.remove_prefix(1);
  return true;
}

bool parse_frame(std::string_view text, StackFrame& frame) {
  if (!take_char(text, 'p') || !take_number(text, frame.code)) return false;
  if (!take_char(text, ':') || !take_number(text, frame.offset_bytes)) return false;
  frame.is_entry = take_char(text, '!');
  return text.empty();
}

ResolvedFrame resolve(const Code& code, std::int32_t offset_bytes) {
  const SourcePlace place = find_place(line_table_format(code.python_version), std::as_bytes(std::span(code.line_table)),
                                       code.first_line, offset_bytes);
  ResolvedFrame frame;
  frame.kind = FrameKind::kPython;
  frame.named = !code.function.empty();
  frame.line = place.line > 0 ? static_cast<std::uint32_t>(place.line) : 0;
  frame.column = place.column >= 0 ? static_cast<std::uint32_t>(place.column) + 1 : 0;
  frame.function = code.function;
  frame.file = code.file;
  return frame;
}

}  // namespace

std::vector<StackFrame> parse_stack(std::string_view frames) {
  std::vector<StackFrame> result;
  while (!frames.empty()) {
    const std::size_t end = std::min(frames.find(' '), frames.size());
    StackFrame frame;
    if (parse_frame(frames.substr(0, end), frame)) result.push_back(frame);
    frames.remove_prefix(std::min(end + 1, frames.size()));
  }
  return result;
}

std::vector<ResolvedFrame> resolve_stack(const Trace& trace, StackId stack) {
  std::vector<ResolvedFrame> result;
  const auto found = trace.stacks.find(stack);
  if (found == trace.stacks.end()) return result;
  for (const StackFrame& frame : found->second) {
    const auto code = trace.codes.find(frame.code);
    if (code != trace.codes.end()) result.push_back(resolve(code->second, frame.offset_bytes));
  }
  return result;
}

}  // namespace synctrace
