// SPDX-License-Identifier: Apache-2.0
#include "findings/remedies/loop_of_function.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/shares.h"
#include "findings/remedies/loop_text.h"
#include "findings/remedies/model_frames.h"
#include "findings/report/trace_words.h"

namespace synctrace {
namespace {

constexpr std::uint64_t kFewestTurnsOfReads = 16;
constexpr std::uint32_t kMostLinesOfTurn = 12;
constexpr std::size_t kMostKernelsOfTurn = 12;  // a turn with more kinds is a model of its own
constexpr std::size_t kLongestLine = 512;       // characters: all names of a line are looked up in all lines of a turn
constexpr Share kNearlyAllReads = percent(90);
constexpr Share kOfNoTurn = percent(15);  // part of a kernel's launches that may be another line's

// It reads how many elements an operation has found, so that it can make room for them.
bool reads_a_size(const StackFrames& frames) {
  return std::any_of(frames.begin(), frames.end(), [](const ResolvedFrame& frame) {
    constexpr std::array<std::string_view, 3> kNames = {"nonzero", "masked_select", "unique"};
    return frame.kind != FrameKind::kPython && std::any_of(kNames.begin(), kNames.end(), [&](std::string_view name) {
             return frame.function.find(name) != std::string::npos;
           });
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
  if (known.source.empty()) known.source = source_text(trace, *own).substr(0, kLongestLine);
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

// A model is called with a batch of one, and no turn needs the one before.
void LoopOfFunction::find_single_items(HostLoop& loop) const {
  bool is_one = false;
  bool is_collected = false;
  std::vector<std::string_view> turn;
  for (const auto& [line, known] : lines_) {
    if ((known.reads + known.issued) / steps_ < loop.turns / 2) continue;
    if (const auto model = takes_one_item(known.source)) {
      is_one = true;
      if (!model->empty()) loop.model = *model;
    }
    is_collected = is_collected || collects(known.source);
    turn.push_back(known.source);
    if (turn.size() > 2 * kMostLinesOfTurn) return;
  }
  loop.takes_single_items = is_one && is_collected && !needs_turn_before(turn);
}

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
  std::vector<std::string_view> turn;
  for (const auto& [line, known] : lines_) {  // what else each turn computes
    const std::uint64_t turns = turns_of(known);
    const bool is_near = line + kMostLinesOfTurn >= collects_at && line <= collects_at + kMostLinesOfTurn;
    const bool is_of_turn = turns > 0 && ratio(turns % loop.turns, loop.turns) <= kOfNoTurn;
    if (is_near && turns > 0) turn.push_back(known.source);
    if (!is_near || !is_of_turn || known.is_model != loop.runs_modules) continue;
    loop.first_line = std::min(loop.first_line, line);
    loop.last_line = std::max(loop.last_line, line);
  }
  if (needs_turn_before(turn)) return std::nullopt;
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
  find_single_items(loop);
  for (const auto& [line, known] : lines_) {
    if ((known.reads + known.issued) / steps_ < loop.turns / 2) continue;
    if (known.is_model && !takes_parts() && !loop.takes_single_items) return std::nullopt;
    loop.runs_modules = loop.runs_modules || known.is_model;
    if (loop.first_line == 0) loop.first_line = line;
    loop.last_line = line;
    const bool names_parameters =
        known.source.find(".grad") != std::string::npos || known.source.find("param") != std::string::npos;
    loop.of_parameters = loop.of_parameters || names_parameters;
    issued += known.issued;
  }
  if (issued / steps_ >= loop.turns / 2) loop.kind = HostLoop::Turns::kCompute;
  const bool is_one = loop.kind == HostLoop::Turns::kCompute || loop.turns >= kFewestTurnsOfReads;
  return is_one ? std::optional(std::move(loop)) : std::nullopt;
}

}  // namespace synctrace
