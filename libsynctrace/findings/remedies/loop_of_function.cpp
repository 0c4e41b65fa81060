// SPDX-License-Identifier: Apache-2.0
#include "findings/remedies/loop_of_function.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/shares.h"
#include "findings/remedies/model_frames.h"
#include "findings/report/trace_words.h"

namespace synctrace {
namespace {

constexpr std::uint64_t kFewestTurnsOfReads = 16;
constexpr Share kNearlyAll = percent(90);

bool holds_text(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

template <std::size_t Count>
bool holds_any(std::string_view text, const std::array<std::string_view, Count>& words) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; });
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) { return holds_text(lower, word); });
}

bool is_of_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

std::string_view leading_name(std::string_view text) {
  const auto end = std::find_if_not(text.begin(), text.end(), is_of_name);
  return text.substr(0, static_cast<std::size_t>(end - text.begin()));
}

// "change = (new - old).norm()": change.
std::string_view assigned_name(std::string_view source) {
  const std::string_view name = leading_name(source);
  return source.substr(name.size()).starts_with(" = ") ? name : std::string_view();
}

// "if change.item() < tol:": change. Empty: the test computes what it reads.
std::string_view tested_name(std::string_view source) {
  for (const std::string_view word : {"if ", "elif ", "while ", "not ", "float(", "bool(", "abs("}) {
    if (source.starts_with(word)) source.remove_prefix(word.size());
  }
  return leading_name(source);
}

// A loop that goes on until what it computes is good enough needs each turn's result in the next one.
bool decides_on_turns(std::string_view source) {
  constexpr std::array<std::string_view, 9> kTested = {"tol",  "eps",    "conv", "resid", "norm",
                                                        "done", "finish", "eos",  "delta"};
  constexpr std::array<std::string_view, 8> kAssigned = {"resid",   "delta",  "change", "converge",
                                                         "is_done", "finish", "rnorm",  "rs_new"};
  if (source.starts_with("while ")) return true;
  if (source.starts_with("if ") || source.starts_with("elif ")) return holds_any(source, kTested);
  const std::string_view name = assigned_name(source);
  return !name.empty() && holds_any(name, kAssigned);
}

// It reads how many elements an operation has found, so that it can make room for them.
bool reads_a_size(const Frames& frames) {
  return std::any_of(frames.begin(), frames.end(), [](const ResolvedFrame& frame) {
    return frame.kind != FrameKind::kPython &&
           (holds_text(frame.function, "nonzero") || holds_text(frame.function, "masked_select") ||
            holds_text(frame.function, "unique"));
  });
}

}  // namespace

// The function's own frame among these; nothing: it is not there.
std::optional<std::size_t> LoopOfFunction::frame_in(const Frames& frames) const {
  const auto found = std::find_if(frames.begin(), frames.end(), [&](const ResolvedFrame& frame) {
    return frame.function == function_.second && frame.file == function_.first;
  });
  return found == frames.end() ? std::nullopt : std::optional<std::size_t>(found - frames.begin());
}

bool LoopOfFunction::holds(const HostLoop& loop, const Frames& frames) const {
  const auto at = frame_in(frames);
  if (!at) return false;
  const std::uint32_t line = frames[*at].line;
  if (loop.kind == HostLoop::Turns::kTest) return line == loop.first_line || line == loop.last_line;
  return line >= loop.first_line && line <= loop.last_line;
}

void LoopOfFunction::add(const Trace& trace, const DoneOnStack& done) {
  const auto at = frame_in(done.frames);
  if (!at) return;
  if (reads_a_size(done.frames)) sizes_ += done.reads;
  reads_ += done.reads;
  const auto own = done.frames.begin() + static_cast<std::ptrdiff_t>(*at);
  Line& known = lines_[own->line];
  known.reads += done.reads;
  known.issued += done.issued;
  const bool is_model = std::any_of(done.frames.begin(), own, runs_a_model);
  known.is_model = known.is_model || (is_model && done.reads + done.issued > 0);
  if (known.source.empty()) known.source = source_text(trace, *own);
}

// Each turn takes the elements of one group, x[group == i], and needs nothing of the turn before.
bool LoopOfFunction::takes_parts() const { return reads_ > 0 && ratio(sizes_, reads_) >= kNearlyAll; }

LoopOfFunction::Lines::const_iterator LoopOfFunction::line_that_decides() const {
  return std::find_if(lines_.begin(), lines_.end(),
                      [](const auto& line) { return line.second.reads > 0 && decides_on_turns(line.second.source); });
}

// The test, and the line that computes what is tested.
std::optional<HostLoop> LoopOfFunction::loop_with_test(Lines::const_iterator test) const {
  const std::uint64_t turns = test->second.reads / steps_;
  const std::string& source = test->second.source;
  if (turns < kFewestTurns) return std::nullopt;
  HostLoop loop{function_.first, function_.second, test->first, test->first, turns, HostLoop::Turns::kTest, source};
  const std::string_view name = tested_name(source);
  for (const auto& [line, known] : lines_) {
    const bool computes_it = !name.empty() && assigned_name(known.source) == name && line < test->first;
    if (computes_it && known.issued / steps_ >= turns / 2) loop.first_line = line;
  }
  return loop;
}

std::optional<HostLoop> LoopOfFunction::loop() const {
  if (const auto test = line_that_decides(); test != lines_.end()) return loop_with_test(test);
  HostLoop loop{function_.first, function_.second};
  for (const auto& [line, known] : lines_) {
    const std::uint64_t reads = known.reads / steps_;
    if (reads >= kFewestTurns && (loop.turns == 0 || reads < loop.turns)) loop.turns = reads;
  }
  if (loop.turns == 0) return std::nullopt;
  std::uint64_t issued = 0;
  for (const auto& [line, known] : lines_) {
    if ((known.reads + known.issued) / steps_ < loop.turns / 2) continue;
    if (known.is_model && !takes_parts()) return std::nullopt;
    if (loop.first_line == 0) loop.first_line = line;
    loop.last_line = line;
    issued += known.issued;
  }
  if (issued / steps_ >= loop.turns / 2) loop.kind = HostLoop::Turns::kCompute;
  const bool is_one = loop.kind == HostLoop::Turns::kCompute || loop.turns >= kFewestTurnsOfReads;
  return is_one ? std::optional(std::move(loop)) : std::nullopt;
}

}  // namespace synctrace
