// SPDX-License-Identifier: Apache-2.0
// The NVTX ranges of one name, by thread: what is launched in them is taken for one CUDA graph. While the thread sleeps
// in such a range until another one wakes it (autograd's engine), that one launches for it.
#pragma once

#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

#include "model/trace.h"

namespace synctrace {

class GraphRanges {
 public:
  // No ranges for an empty name.
  GraphRanges(const Trace& trace, std::string_view name) {
    if (name.empty()) return;
    std::map<ThreadId, std::vector<const NvtxEvent*>> open;
    for (const NvtxEvent& event : trace.nvtx_events) {
      std::vector<const NvtxEvent*>& stack = open[event.thread];
      if (event.what == NvtxEvent::What::kPush) stack.push_back(&event);
      if (event.what != NvtxEvent::What::kPop || stack.empty()) continue;
      const auto text = trace.strings.find(stack.back()->text);
      if (text != trace.strings.end() && text->second == name)
        add(event.thread, {stack.back()->time_ns, event.time_ns});
      stack.pop_back();
    }
    add_helpers(trace);
  }

  bool any() const noexcept { return !ranges_.empty(); }

  // Whether the nanosecond before t lies in a range of the thread.
  bool covers(ThreadId thread, Nanoseconds t) const {
    const auto ranges = ranges_.find(thread);
    if (ranges == ranges_.end()) return false;
    const auto after = std::lower_bound(ranges->second.begin(), ranges->second.end(), t,
                                        [](const TimeSpan& range, Nanoseconds time) { return range.begin_ns < time; });
    return after != ranges->second.begin() && std::prev(after)->end_ns >= t;
  }

 private:
  // Ranges inside one another are one; they end in order.
  void add(ThreadId thread, TimeSpan span) {
    std::vector<TimeSpan>& ranges = ranges_[thread];
    while (!ranges.empty() && ranges.back().begin_ns >= span.begin_ns) ranges.pop_back();
    ranges.push_back(span);
  }

  void add_helpers(const Trace& trace) {
    std::map<ThreadId, std::vector<TimeSpan>> helping;
    for (const HostWait& wait : trace.host_waits) {
      if (number(wait.waker) == 0 || wait.waker == wait.thread) continue;
      if (covers(wait.thread, wait.span.begin_ns + 1) && covers(wait.thread, wait.span.end_ns))
        helping[wait.waker].push_back(wait.span);
    }
    for (auto& [thread, spans] : helping) {
      std::vector<TimeSpan>& ranges = ranges_[thread];
      spans.insert(spans.end(), ranges.begin(), ranges.end());
      std::sort(spans.begin(), spans.end(),
                [](const TimeSpan& a, const TimeSpan& b) { return a.begin_ns < b.begin_ns; });
      ranges.clear();
      for (const TimeSpan& span : spans) {
        if (ranges.empty() || ranges.back().end_ns < span.begin_ns) ranges.push_back(span);
        ranges.back().end_ns = std::max(ranges.back().end_ns, span.end_ns);
      }
    }
  }

  std::map<ThreadId, std::vector<TimeSpan>> ranges_;
};

}  // namespace synctrace
