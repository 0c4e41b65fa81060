// SPDX-License-Identifier: Apache-2.0
#include "findings/user_lines.h"

#include <utility>
#include <vector>

#include "base/shown_text.h"
#include "names/resolve_stack.h"

namespace synctrace {
namespace {

ResolvedFrame printable_frame(ResolvedFrame frame) {
  frame.function = printable(frame.function);
  frame.file = printable(frame.file);
  frame.module = printable(frame.module);
  return frame;
}

}  // namespace

UserLines::UserLines(const Trace& trace, const UserCode& user_code) : trace_(trace), user_code_(user_code) {
  user_code_.set_executable(std::string(fact(trace, "executable")));
}

StackId UserLines::representative(StackId stack) {
  const auto known = representatives_.find(stack);
  if (known != representatives_.end()) return known->second;
  const std::vector<ResolvedFrame> frames = resolve_stack(trace_, stack);
  const ChosenFrame chosen = choose_frame(frames, user_code_);
  StackId result{};
  if (chosen.basis != FrameBasis::kNone) {
    const ResolvedFrame& frame = frames[chosen.index];
    result = places_.try_emplace(std::tuple(frame.file, frame.line, frame.function), stack).first->second;
  }
  representatives_.emplace(stack, result);
  return result;
}

UserLine UserLines::describe(StackId stack) const {
  const std::vector<ResolvedFrame> frames = resolve_stack(trace_, stack);
  const ChosenFrame chosen = choose_frame(frames, user_code_);
  UserLine result;
  if (chosen.basis == FrameBasis::kNone) return result;
  const std::vector<bool> hidden = interpreter_frames(frames);
  const bool whole = described_bytes_ <= kMostDescribedBytes;
  std::size_t shown_index = 0;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    if (!whole && i != chosen.index) continue;
    if (i == chosen.index) shown_index = result.stack.size();
    result.stack.push_back({printable_frame(frames[i]), printable(source_text(trace_, frames[i])), hidden[i]});
    const ResolvedFrame& frame = result.stack.back().frame;
    described_bytes_ += sizeof(ShownFrame) + frame.function.size() + frame.file.size() + frame.module.size() +
                        result.stack.back().source.size();
  }
  const ShownFrame& shown = result.stack[shown_index];
  result.file = shown.frame.file;
  result.line = shown.frame.line;
  result.function = shown.frame.function;
  result.source = shown.source;
  return result;
}

}  // namespace synctrace
