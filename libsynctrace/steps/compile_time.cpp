// SPDX-License-Identifier: Apache-2.0
#include "steps/compile_time.h"

#include <algorithm>
#include <iterator>
#include <unordered_set>

#include "code/compiler_code.h"

namespace synctrace {
namespace {

// A moment at which it is known where a thread was.
struct Look {
  TimeSpan span;
  bool is_inside = false;
};

std::unordered_set<StackId> compilers_stacks(const Trace& trace) {
  std::unordered_set<std::uint32_t> codes;
  for (const auto& [id, code] : trace.codes) {
    if (is_compiler_code(code.file, code.function)) codes.insert(id);
  }
  std::unordered_set<StackId> result;
  if (codes.empty()) return result;
  for (const auto& [id, frames] : trace.stacks) {
    const auto is_compilers = [&](const StackFrame& frame) {
      return frame.kind == StackFrame::Kind::kPython && codes.contains(frame.code);
    };
    if (std::any_of(frames.begin(), frames.end(), is_compilers)) result.insert(id);
  }
  return result;
}

std::vector<TimeSpan> spans_inside(std::vector<Look>& looks) {
  std::stable_sort(looks.begin(), looks.end(),
                   [](const Look& a, const Look& b) { return a.span.begin_ns < b.span.begin_ns; });
  std::vector<TimeSpan> result;
  bool goes_on = false;
  for (const Look& look : looks) {
    if (look.is_inside && goes_on)
      result.back().end_ns = std::max(result.back().end_ns, look.span.end_ns);
    else if (look.is_inside)
      result.push_back(look.span);
    goes_on = look.is_inside;
  }
  return result;
}

}  // namespace

CompileTime::CompileTime(const Trace& trace) : first_thread_(ThreadId{trace.process_id}) {
  const std::unordered_set<StackId> inside = compilers_stacks(trace);
  if (inside.empty()) return;
  std::map<ThreadId, std::vector<Look>> looks;
  const auto add = [&](const auto& rows) {
    for (const auto& row : rows) {
      if (number(row.stack) != 0) looks[row.thread].push_back({row.span, inside.contains(row.stack)});
    }
  };
  add(trace.calls);
  add(trace.launches);
  add(trace.host_waits);
  add(trace.samples);
  for (auto& [thread, seen] : looks) {
    std::vector<TimeSpan> spans = spans_inside(seen);
    if (!spans.empty()) spans_.emplace(thread, std::move(spans));
  }
}

bool CompileTime::has(ThreadId thread, Nanoseconds t) const {
  return !spans_.empty() && (is_inside(thread, t) || is_inside(first_thread_, t));
}

bool CompileTime::is_inside(ThreadId thread, Nanoseconds t) const {
  const auto spans = spans_.find(thread);
  if (spans == spans_.end()) return false;
  const auto after = std::upper_bound(spans->second.begin(), spans->second.end(), t,
                                      [](Nanoseconds time_ns, TimeSpan span) { return time_ns < span.begin_ns; });
  return after != spans->second.begin() && t <= std::prev(after)->end_ns;
}

}  // namespace synctrace
