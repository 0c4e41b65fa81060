// SPDX-License-Identifier: Apache-2.0
#include "exchange/draft_stacks.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "model/stacks.h"

namespace synctrace {
namespace {

// The file has no line tables of Python. Any version that has them will do, and an offset before the first instruction
// stands for the line of the definition.
constexpr std::uint32_t kSomePython = 0x030c0000;
constexpr std::int32_t kDefinition = -1;

struct PythonName {
  std::string_view file;
  std::string_view function;
  std::int32_t line = 0;
};

// "train.py(12): step"
std::optional<PythonName> parse_python(std::string_view name) {
  for (std::size_t open = name.find('('); open != std::string_view::npos; open = name.find('(', open + 1)) {
    PythonName result;
    const char* const begin = name.data() + open + 1;
    const auto [end, error] = std::from_chars(begin, name.data() + name.size(), result.line);
    const std::string_view rest = name.substr(static_cast<std::size_t>(end - name.data()));
    if (error != std::errc{} || !rest.starts_with("): ") || open == 0 || result.line < 0) continue;
    result.file = name.substr(0, open);
    result.function = rest.substr(3);
    return result;
  }
  return std::nullopt;
}

// "<built-in method item of Tensor object at 0x7f12>" is one function, not one for each object.
std::string without_address(std::string_view name) {
  const std::size_t at = name.find(" at 0x");
  if (at == std::string_view::npos) return std::string(name);
  const std::size_t end = std::min(name.find_first_not_of("0123456789abcdef", at + 6), name.size());
  return std::string(name.substr(0, at)) + std::string(name.substr(end));
}

}  // namespace

std::uint32_t DraftStacks::intern(const std::string& key, Frame frame) {
  const auto [entry, is_new] = frame_index_.try_emplace(key, static_cast<std::uint32_t>(frames_.size() + 1));
  if (is_new) frames_.push_back(std::move(frame));
  return entry->second;
}

std::uint32_t DraftStacks::python_frame(std::string_view file, std::int32_t line, std::string_view function) {
  const std::string key = "p" + std::to_string(line) + '\0' + std::string(file) + '\0' + std::string(function);
  return intern(key, {std::string(function), std::string(file), {}, line, true});
}

std::uint32_t DraftStacks::native_frame(std::string_view function, std::string_view module) {
  const std::string name = without_address(function);
  return intern("n" + std::string(module) + '\0' + name, {name, {}, std::string(module), 0, false});
}

std::uint32_t DraftStacks::frame(std::string_view name, std::string_view module) {
  const auto python = parse_python(name);
  return python ? python_frame(python->file, python->line, python->function) : native_frame(name, module);
}

StackId DraftStacks::inside(StackId outside, std::uint32_t frame) {
  const std::uint64_t key = (std::uint64_t{number(outside)} << 32) | frame;
  const auto [entry, is_new] = path_index_.try_emplace(key, static_cast<StackId>(paths_.size() + 1));
  if (is_new) paths_.push_back({outside, frame, false});
  return entry->second;
}

StackId DraftStacks::wanted(StackId stack) {
  if (number(stack) != 0) paths_[number(stack) - 1].wanted = true;
  return stack;
}

StackId DraftStacks::stack_of(const std::vector<std::uint32_t>& frames) {
  StackId stack{};
  for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) stack = inside(stack, *frame);
  return wanted(stack);
}

void DraftStacks::answer(std::vector<Question> questions) {
  // If ranges begin together, the longer one is outside. Equal ranges keep their order.
  std::stable_sort(ranges_.begin(), ranges_.end(), [](const Range& a, const Range& b) {
    return std::tuple(a.thread, a.span.begin_ns, -a.span.end_ns) <
           std::tuple(b.thread, b.span.begin_ns, -b.span.end_ns);
  });
  std::sort(questions.begin(), questions.end(), [](const Question& a, const Question& b) {
    return std::tuple(a.thread, a.time_ns) < std::tuple(b.thread, b.time_ns);
  });
  std::vector<const Range*> open;
  auto next = ranges_.begin();
  ThreadId thread{};
  // Clocks of two kinds make ranges that cut into each other: what has ended is not always the innermost.
  const auto drop_ended = [&](Nanoseconds t) {
    std::erase_if(open, [&](const Range* range) { return range->span.end_ns <= t; });
  };
  for (const Question& question : questions) {
    if (question.thread != thread) {
      open.clear();
      thread = question.thread;
      next = std::lower_bound(ranges_.begin(), ranges_.end(), thread,
                              [](const Range& range, ThreadId id) { return range.thread < id; });
    }
    for (; next != ranges_.end() && next->thread == thread && next->span.begin_ns <= question.time_ns; ++next) {
      while (!open.empty() && open.back()->span.end_ns <= next->span.begin_ns) open.pop_back();
      if (open.size() >= kMostStackFrames) drop_ended(next->span.begin_ns);
      if (open.size() < kMostStackFrames) open.push_back(&*next);
    }
    drop_ended(question.time_ns);
    StackId stack{};
    for (const Range* range : open) stack = inside(stack, range->frame);
    *question.answer = wanted(stack);
  }
}

void DraftStacks::define(Trace& trace) const {
  std::map<std::string_view, std::uint32_t> modules;
  std::vector<StackFrame> as_written(frames_.size());
  for (std::uint32_t id = 1; id <= frames_.size(); ++id) {
    const Frame& frame = frames_[id - 1];
    StackFrame& written = as_written[id - 1];
    if (frame.python) {
      written.kind = StackFrame::Kind::kPython;
      written.offset_bytes = kDefinition;
      written.code = id;
      trace.codes[id] = {frame.file, frame.function, {}, frame.line, kSomePython};
      continue;
    }
    const auto [module, is_new] = modules.try_emplace(frame.module, static_cast<std::uint32_t>(modules.size() + 1));
    if (is_new) trace.modules[module->second].path = frame.module;
    written.kind = StackFrame::Kind::kNative;
    written.native = {module->second, id, false};
    ResolvedFrame resolved;
    resolved.named = true;
    resolved.function = frame.function;
    trace.symbols[written.native] = {resolved};
  }
  for (std::size_t i = 0; i < paths_.size(); ++i) {
    if (!paths_[i].wanted) continue;
    std::vector<StackFrame>& stack = trace.stacks[static_cast<StackId>(i + 1)];
    for (StackId at = static_cast<StackId>(i + 1); number(at) != 0; at = paths_[number(at) - 1].outside) {
      if (stack.size() + 1 >= kMostStackFrames) {
        stack.push_back({});
        stack.back().kind = StackFrame::Kind::kMissing;
        break;
      }
      stack.push_back(as_written[paths_[number(at) - 1].frame - 1]);
    }
  }
}

}  // namespace synctrace
