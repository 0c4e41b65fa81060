// SPDX-License-Identifier: Apache-2.0
// The NVTX ranges of one name, by thread: what is launched in them is taken for one CUDA graph.
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
      if (text != trace.strings.end() && text->second == name) add(event.thread, {stack.back()->time_ns, event.time_ns});
      stack.pop_back();
    }
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

  std::map<ThreadId, std::vector<TimeSpan>> ranges_;
};

}  // namespace synctrace
