// SPDX-License-Identifier: Apache-2.0
#include "findings/calls/stack_places.h"

#include <utility>
#include <vector>

#include "base/shown_text.h"
#include "findings/calls/find_wait_helpers.h"
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

StackPlaces::StackPlaces(const Trace& trace, const UserCode& user_code, std::size_t most_described_bytes,
                         HelperPlaces helper_places)
    : trace_(trace),
      user_code_(user_code),
      most_described_bytes_(most_described_bytes),
      tells_callers_(helper_places == HelperPlaces::kCallers) {
  user_code_.set_executable(std::string(fact(trace, "executable")));
  if (helper_places == HelperPlaces::kCallers) helpers_ = find_wait_helpers(trace, user_code_);
}

StackPlaces::Shown StackPlaces::shown_of(const std::vector<ResolvedFrame>& frames) const {
  const ChosenFrame chosen = choose_frame(frames, user_code_);
  const WaitHelpers::Shown shown = helpers_.shown_frame(frames, chosen);
  return {chosen.basis, shown.caller, shown.helper, chosen.index};
}

StackPlaces::Line StackPlaces::library_line(const ResolvedFrame& frame) const {
  return {frame.file.empty() ? frame.module : frame.file, frame.line, frame.function};
}

// The innermost frame inside of the shown one's call that a library's own switch is about: what waits there is told
// apart from the rest of that call. None where callers are not told apart either.
std::size_t StackPlaces::library_frame_of(const std::vector<ResolvedFrame>& frames, std::size_t shown) const {
  for (std::size_t i = 0; tells_callers_ && i < shown; ++i) {
    const auto [known, is_new] = library_frames_.try_emplace(library_line(frames[i]), LibraryFrame::kOther);
    if (is_new) known->second = library_frame(frames[i], [&] { return source_text(trace_, frames[i]); });
    if (known->second != LibraryFrame::kOther) return i;
  }
  return kNoFrame;
}

// The innermost line of the loop's own file, where the loop is in a library that the user's line calls.
std::size_t StackPlaces::frame_in_loop(const std::vector<ResolvedFrame>& frames, std::size_t shown) const {
  if (!tells_callers_ || loop_function_.empty()) return kNoFrame;
  std::size_t innermost = kNoFrame;
  for (std::size_t i = 0; i < shown; ++i) {
    if (frames[i].file != loop_file_) continue;
    if (innermost == kNoFrame) innermost = i;
    if (frames[i].function == loop_function_) return innermost;
  }
  return kNoFrame;
}

std::size_t StackPlaces::inner_frame_of(const std::vector<ResolvedFrame>& frames, std::size_t shown) const {
  const std::size_t known = library_frame_of(frames, shown);
  return known != kNoFrame ? known : frame_in_loop(frames, shown);
}

void StackPlaces::tell_apart_inside_of(std::string loop_file, std::string loop_function) {
  loop_file_ = std::move(loop_file);
  loop_function_ = std::move(loop_function);
}

StackPlace StackPlaces::place_of(StackId stack) {
  const auto known = of_stacks_.find(stack);
  if (known != of_stacks_.end()) return known->second;
  const std::vector<ResolvedFrame> frames = resolve_stack(trace_, stack);
  const Shown shown = shown_of(frames);
  StackPlace result{};
  if (shown.basis != FrameBasis::kNone) {
    const ResolvedFrame& frame = frames[shown.index];
    const ResolvedFrame& helper = frames[shown.helper];
    const bool is_helper = shown.index != shown.helper;
    const std::size_t inside = is_helper ? kNoFrame : inner_frame_of(frames, shown.index);
    Line called = is_helper ? Line(helper.file, 0, helper.function) : Line();
    if (inside != kNoFrame) {
      called = library_line(frames[inside]);
      const auto row = library_frames_.find(called);
      const LibraryFrame about = row == library_frames_.end() ? LibraryFrame::kOther : row->second;
      if (about == LibraryFrame::kFile || about == LibraryFrame::kFunction) std::get<1>(called) = 0;
      if (about == LibraryFrame::kFile) std::get<2>(called).clear();
    }
    std::pair key(Line(frame.file, frame.line, frame.function), std::move(called));
    result = of_lines_.try_emplace(std::move(key), StackPlace{number(stack)}).first->second;
    if (is_helper) helper_lines_[result].insert(frames[shown.innermost].line);
  }
  of_stacks_.emplace(stack, result);
  return result;
}

const std::set<std::uint32_t>& StackPlaces::helper_lines(StackPlace place) const {
  static const std::set<std::uint32_t> kNone;
  const auto known = helper_lines_.find(place);
  return known == helper_lines_.end() ? kNone : known->second;
}

SourceLine StackPlaces::line_of(StackPlace place) const {
  const auto typical = typical_.find(place);
  return line_of(typical != typical_.end() ? typical->second : StackId{number(place)});
}

SourceLine StackPlaces::line_of(StackId stack) const {
  const std::vector<ResolvedFrame> frames = resolve_stack(trace_, stack);
  const Shown chosen = shown_of(frames);
  SourceLine result;
  if (chosen.basis == FrameBasis::kNone) return result;
  const std::vector<bool> hidden = interpreter_frames(frames);
  const bool whole = described_bytes_ <= most_described_bytes_;
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
  const bool is_library = chosen.index == chosen.innermost;
  const std::size_t inside = is_library ? inner_frame_of(frames, chosen.index) : chosen.innermost;
  if (inside != kNoFrame) {
    const ResolvedFrame called = printable_frame(frames[inside]);
    // A line that says so itself needs no second one: "torch.cuda.synchronize()".
    const std::string call = called.function.substr(called.function.rfind('.') + 1) + "(";
    if (is_library && result.source.find(call) != std::string::npos) return result;
    const std::string source = printable(source_text(trace_, frames[inside]));
    result.through = {called.file.empty() ? called.module : called.file, called.line, called.function, source,
                      is_library};
  }
  return result;
}

}  // namespace synctrace
