// SPDX-License-Identifier: Apache-2.0
#include "model/nvtx_ranges.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

namespace synctrace {
namespace {

class RangeReader {
 public:
  std::vector<NvtxRange> run(const Trace& trace) {
    for (const NvtxEvent& event : trace.nvtx_events) take(event);
    for (NvtxRange& range : ranges_) {
      if (range.open) range.span.end_ns = std::max(trace.last_ns, range.span.begin_ns);
    }
    // Ranges are made at their begins, so the events' order is theirs already.
    return std::move(ranges_);
  }

 private:
  void take(const NvtxEvent& event) {
    switch (event.what) {
      case NvtxEvent::What::kPush: {
        std::vector<std::size_t>& stack = stacks_[{event.thread, event.domain}];
        stack.push_back(begin(event, static_cast<std::uint32_t>(stack.size()), true));
        return;
      }
      case NvtxEvent::What::kPop: {
        std::vector<std::size_t>& stack = stacks_[{event.thread, event.domain}];
        if (stack.empty()) return;
        end(stack.back(), event.time_ns);
        stack.pop_back();
        return;
      }
      case NvtxEvent::What::kStart: started_[event.range] = begin(event, 0, false); return;
      case NvtxEvent::What::kEnd:
        if (const auto started = started_.find(event.range); started != started_.end()) {
          end(started->second, event.time_ns);
          started_.erase(started);
        }
        return;
      case NvtxEvent::What::kMark: return;
    }
  }

  std::size_t begin(const NvtxEvent& event, std::uint32_t depth, bool pushed) {
    ranges_.push_back({{event.time_ns, event.time_ns}, event.thread, event.domain, event.text, depth, pushed, true});
    return ranges_.size() - 1;
  }

  void end(std::size_t index, Nanoseconds end_ns) {
    ranges_[index].span.end_ns = end_ns;
    ranges_[index].open = false;
  }

  std::map<std::pair<ThreadId, NvtxDomainId>, std::vector<std::size_t>> stacks_;  // they hold indices of ranges_
  std::unordered_map<std::uint64_t, std::size_t> started_;
  std::vector<NvtxRange> ranges_;
};

}  // namespace

std::vector<NvtxRange> nvtx_ranges(const Trace& trace) { return RangeReader().run(trace); }

}  // namespace synctrace
