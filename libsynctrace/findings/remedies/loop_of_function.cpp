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
constexpr std::uint32_t kMostLinesOfTurn = 12;
constexpr std::size_t kMostKernelsOfTurn = 12;  // a turn with more kinds is a model of its own
constexpr Share kNearlyAllReads = percent(90);
constexpr Share kOfNoTurn = percent(15);  // part of a kernel's launches that may be another line's

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

// "parts.append(head(x[:, i]))", "[head(part) for part in parts]", "out[:, i] = head(x[:, i])"; but not a cell, or
// "states[i] = step(states[i])".
bool collects(std::string_view source) {
  if (holds_text(source, "cell") || holds_text(source, "Cell")) return false;
  if (holds_text(source, ".append(")) return true;
  const bool is_comprehension = holds_text(source, "[") && holds_text(source, " for ") && holds_text(source, " in ");
  if (is_comprehension && !source.starts_with("for ")) return true;
  const std::string_view name = leading_name(source);
  const std::size_t assigned = source.find("] = ");
  return !name.empty() && assigned != std::string_view::npos && source.substr(name.size()).starts_with("[") &&
         holds_text(source.substr(assigned), "(") && !holds_text(source.substr(assigned), name);
}

bool names(std::string_view text, std::string_view name) {
  for (std::size_t at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
    const bool begins = at == 0 || !is_of_name(text[at - 1]);
    const std::size_t end = at + name.size();
    if (begins && (end == text.size() || !is_of_name(text[end]))) return true;
  }
  return false;
}

// "h = torch.tanh(x[:, t] + h @ w)": the next turn needs this one's. A sum does not: "loss = loss + f(x)".
bool goes_on(std::string_view source) {
  const std::size_t assigned = source.find(" = ");
  if (assigned == std::string_view::npos) return false;
  std::string_view left = source.substr(0, assigned);
  const std::string_view right = source.substr(assigned + 3);
  int brackets = 0;  // an index in them is no target
  while (!left.empty()) {
    const std::string_view name = leading_name(left);
    const bool is_sum = right.starts_with(name) && right.substr(name.size()).starts_with(" + ");
    if (brackets == 0 && !name.empty() && names(right, name) && !is_sum) return true;
    if (name.empty()) brackets += left.front() == '[' ? 1 : left.front() == ']' ? -1 : 0;
    left.remove_prefix(std::max<std::size_t>(1, name.size()));
  }
  return false;
}

// It reads how many elements an operation has found, so that it can make room for them.
bool reads_a_size(const StackFrames& frames) {
  return std::any_of(frames.begin(), frames.end(), [](const ResolvedFrame& frame) {
    return frame.kind != FrameKind::kPython &&
           (holds_text(frame.function, "nonzero") || holds_text(frame.function, "masked_select") ||
            holds_text(frame.function, "unique"));
  });
}

}  // namespace

// The function's own frame among these; nothing: it is not there.
std::optional<std::size_t> LoopOfFunction::frame_in(const StackFrames& frames) const {
  const auto found = std::find_if(frames.begin(), frames.end(), [&](const ResolvedFrame& frame) {
    return frame.function == function_.second && frame.file == function_.first;
  });
  return found == frames.end() ? std::nullopt : std::optional<std::size_t>(found - frames.begin());
}

bool LoopOfFunction::holds(const HostLoop& loop, const StackFrames& frames) const {
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
  known.uploads += done.uploads;
  known.issued += done.issued();
  for (const auto& [name, count] : done.kernels) known.kernels[name] += count;
  const bool is_model = std::any_of(done.frames.begin(), own, runs_a_model);
  known.is_model = known.is_model || (is_model && done.reads + done.issued() > 0);
  if (known.source.empty()) known.source = source_text(trace, *own);
  most_of_stack_ = std::max(most_of_stack_, done.reads);
  // A line that returns runs once in each call: the loop is its caller's, or there is none.
  const auto caller = std::find_if(own + 1, done.frames.end(), [](const ResolvedFrame& frame) {
    return frame.kind == FrameKind::kPython && frame.line > 0;
  });
  const bool is_called_in_loop = caller != done.frames.end() && collects(source_text(trace, *caller));
  if (known.source.starts_with("return ") && !is_called_in_loop) read_once_ += done.reads;
}

// Each turn takes the elements of one group, x[group == i], and needs nothing of the turn before.
bool LoopOfFunction::takes_parts() const { return reads_ > 0 && ratio(sizes_, reads_) >= kNearlyAllReads; }

LoopOfFunction::Lines::const_iterator LoopOfFunction::line_that_decides() const {
  return std::find_if(lines_.begin(), lines_.end(),
                      [](const auto& line) { return line.second.reads > 0 && decides_on_turns(line.second.source); });
}

// The test, and the line that computes what is tested.
std::optional<HostLoop> LoopOfFunction::loop_with_test(Lines::const_iterator test) const {
  const std::uint64_t turns = test->second.reads / steps_;
  const std::string& source = test->second.source;
  if (turns < kFewestTurns) return std::nullopt;
  HostLoop loop{function_.first, function_.second, test->first, test->first, turns, HostLoop::Turns::kTest};
  loop.test = source;
  const std::string_view name = tested_name(source);
  for (const auto& [line, known] : lines_) {
    const bool computes_it = !name.empty() && assigned_name(known.source) == name && line < test->first;
    if (computes_it && known.issued / steps_ >= turns / 2) loop.first_line = line;
  }
  return loop;
}

// How often each kernel of a line is launched in a step, if that is about the same number for all, or a multiple; 0: it
// is not.
std::uint64_t LoopOfFunction::turns_of(const Line& line) const {
  std::uint64_t turns = 0;
  for (const auto& [name, count] : line.kernels) {
    const std::uint64_t each_step = (count + steps_ / 2) / steps_;
    if (each_step > 0 && (turns == 0 || each_step < turns)) turns = each_step;
  }
  if (turns < kFewestTurnsOfReads) return 0;
  for (const auto& [name, count] : line.kernels) {
    const std::uint64_t each_step = (count + steps_ / 2) / steps_;
    const std::uint64_t times = (each_step + turns / 2) / turns;
    const std::uint64_t off = each_step > times * turns ? each_step - times * turns : times * turns - each_step;
    if (each_step > 0 && ratio(off, each_step) > kOfNoTurn) return 0;
  }
  return turns;
}

// One that puts what each turn computes beside the others: no turn needs the one before.
std::optional<HostLoop> LoopOfFunction::loop_that_collects() const {
  HostLoop loop{function_.first, function_.second};
  loop.kind = HostLoop::Turns::kCompute;
  loop.reads = false;
  for (const auto& [line, known] : lines_) {
    if (known.reads + known.uploads > 0 || known.kernels.size() > kMostKernelsOfTurn || !collects(known.source))
      continue;
    const std::uint64_t turns = turns_of(known);
    if (turns <= loop.turns) continue;
    loop.turns = turns;
    loop.first_line = loop.last_line = line;
    loop.runs_modules = known.is_model;
  }
  if (loop.turns == 0) return std::nullopt;
  const std::uint32_t collects_at = loop.first_line;
  for (const auto& [line, known] : lines_) {  // what else each turn computes
    const std::uint64_t turns = turns_of(known);
    const bool is_near = line + kMostLinesOfTurn >= collects_at && line <= collects_at + kMostLinesOfTurn;
    const bool is_of_turn = turns > 0 && ratio(turns % loop.turns, loop.turns) <= kOfNoTurn;
    if (is_near && turns > 0 && goes_on(known.source)) return std::nullopt;
    if (!is_near || !is_of_turn || known.is_model != loop.runs_modules) continue;
    loop.first_line = std::min(loop.first_line, line);
    loop.last_line = std::max(loop.last_line, line);
  }
  return loop;
}

std::optional<HostLoop> LoopOfFunction::loop(bool reads_itself) const {
  if (!reads_itself) return loop_that_collects();
  if (const auto test = line_that_decides(); test != lines_.end()) return loop_with_test(test);
  if (std::optional<HostLoop> loop = loop_that_reads()) return loop;
  return loop_that_collects();
}

std::optional<HostLoop> LoopOfFunction::loop_that_reads() const {
  HostLoop loop{function_.first, function_.second};
  for (const auto& [line, known] : lines_) {
    const std::uint64_t reads = known.reads / steps_;
    if (reads >= kFewestTurns && (loop.turns == 0 || reads < loop.turns)) loop.turns = reads;
  }
  const bool is_of_calls = ratio(read_once_, reads_) > percent(50) || most_of_stack_ / steps_ < kFewestTurns;
  if (loop.turns == 0 || is_of_calls) return std::nullopt;
  std::uint64_t issued = 0;
  for (const auto& [line, known] : lines_) {
    if ((known.reads + known.issued) / steps_ < loop.turns / 2) continue;
    if (known.is_model && !takes_parts()) return std::nullopt;
    if (loop.first_line == 0) loop.first_line = line;
    loop.last_line = line;
    loop.of_parameters = loop.of_parameters || holds_text(known.source, ".grad") || holds_text(known.source, "param");
    issued += known.issued;
  }
  if (issued / steps_ >= loop.turns / 2) loop.kind = HostLoop::Turns::kCompute;
  const bool is_one = loop.kind == HostLoop::Turns::kCompute || loop.turns >= kFewestTurnsOfReads;
  return is_one ? std::optional(std::move(loop)) : std::nullopt;
}

}  // namespace synctrace
