// SPDX-License-Identifier: Apache-2.0
#include "model/stacks.h"

#include <algorithm>
#include <charconv>

namespace synctrace {
namespace {

template <class Number>
bool take_number(std::string_view& text, Number& value, int base = 10) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc{}) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

bool take_char(std::string_view& text, char wanted) {
  if (text.empty() || text.front() != wanted) return false;
  text.remove_prefix(1);
  return true;
}

bool parse_python(std::string_view text, StackFrame& frame) {
  frame.kind = StackFrame::Kind::kPython;
  if (!take_number(text, frame.code) || !take_char(text, ':') || !take_number(text, frame.offset_bytes)) return false;
  frame.is_entry = take_char(text, '!');
  return text.empty();
}

bool parse_native(std::string_view text, bool interrupted, StackFrame& frame) {
  frame.kind = StackFrame::Kind::kNative;
  frame.native.interrupted = interrupted;
  return take_number(text, frame.native.module) && take_char(text, ':') &&
         take_number(text, frame.native.address, 16) && text.empty();
}

bool parse_frame(std::string_view text, StackFrame& frame) {
  if (take_char(text, 'p')) return parse_python(text, frame);
  if (take_char(text, 'n')) return parse_native(text, false, frame);
  if (take_char(text, 'i')) return parse_native(text, true, frame);
  if (text != "~" && text != "|") return false;
  frame.kind = text == "~" ? StackFrame::Kind::kMissing : StackFrame::Kind::kUnordered;
  return true;
}

}  // namespace

std::vector<StackFrame> parse_stack(std::string_view frames) {
  std::vector<StackFrame> result;
  while (!frames.empty()) {
    const std::size_t end = std::min(frames.find(' '), frames.size());
    StackFrame frame;
    if (parse_frame(frames.substr(0, end), frame)) result.push_back(frame);
    frames.remove_prefix(std::min(end + 1, frames.size()));
    if (result.size() < kMostStackFrames || frames.empty()) continue;
    result.back() = StackFrame{};
    result.back().kind = StackFrame::Kind::kMissing;
    break;
  }
  return result;
}

}  // namespace synctrace
