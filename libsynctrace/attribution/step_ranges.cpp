// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "attribution/step_candidates.h"

namespace synctrace {
namespace {

struct Range {
  TimeSpan span;
  std::size_t depth = 0;
  StringId text{};
};

using Key = std::tuple<std::string, ThreadId, NvtxDomainId>;  // the name without digits

std::string without_digits(std::string_view name) {
  std::string result;
  for (const char c : name) {
    if (c < '0' || c > '9') result += c;
  }
  return result;
}

class RangeReader {
 public:
  explicit RangeReader(const Trace& trace) : trace_(trace) {}

  std::map<Key, std::vector<Range>> run() {
    for (const NvtxEvent& event : trace_.nvtx_events) take(event);
    return std::move(ranges_);
  }

 private:
  struct Open {
    Nanoseconds begin_ns = 0;
    StringId text{};
    NvtxDomainId domain{};
    ThreadId thread{};
  };

  void take(const NvtxEvent& event) {
    std::vector<Open>& stack = stacks_[{event.thread, event.domain}];
    switch (event.what) {
      case NvtxEvent::What::kPush:
        stack.push_back({event.time_ns, event.text, event.domain, event.thread});
        return;
      case NvtxEvent::What::kPop:
        if (stack.empty()) return;
        add(stack.back(), event.time_ns, stack.size() - 1);
        stack.pop_back();
        return;
      case NvtxEvent::What::kStart:
        open_[event.range] = {event.time_ns, event.text, event.domain, event.thread};
        return;
      case NvtxEvent::What::kEnd:
        if (const auto started = open_.find(event.range); started != open_.end()) {
          add(started->second, event.time_ns, 0);
          open_.erase(started);
        }
        return;
      case NvtxEvent::What::kMark:
        return;
    }
  }

  void add(const Open& open, Nanoseconds end_ns, std::size_t depth) {
    const auto [name, is_new] = names_.try_emplace(open.text);
    if (is_new) {
      const auto text = trace_.strings.find(open.text);
      if (text != trace_.strings.end()) name->second = without_digits(text->second);
    }
    if (!name->second.empty()) ranges_[{name->second, open.thread, open.domain}].push_back({{open.begin_ns, end_ns}, depth, open.text});
  }

  const Trace& trace_;
  std::map<std::pair<ThreadId, NvtxDomainId>, std::vector<Open>> stacks_;
  std::unordered_map<std::uint64_t, Open> open_;
  std::unordered_map<StringId, std::string> names_;
  std::map<Key, std::vector<Range>> ranges_;
};

bool are_disjoint(const std::vector<Range>& ranges) {
  for (std::size_t i = 1; i < ranges.size(); ++i) {
    if (ranges[i].span.begin_ns < ranges[i - 1].span.end_ns) return false;
  }
  return true;
}

}  // namespace

StepCandidates steps_by_ranges(const Trace& trace, const Correlation& correlation, std::string_view range) {
  StepCandidates result;
  std::map<Key, std::vector<Range>> all = RangeReader(trace).run();
  const auto by_issue = correlation.by_issue();
  const TimeSpan issuing = by_issue.empty() ? TimeSpan{trace.first_ns, trace.last_ns}
                                            : TimeSpan{correlation.issued_ns(by_issue.front()), correlation.issued_ns(by_issue.back())};
  const std::vector<Range>* best = nullptr;
  std::tuple<bool, std::size_t, Nanoseconds> best_rank;  // a profiler's steps, depth, minus the time covered
  for (auto& [key, ranges] : all) {
    const std::string& name = std::get<0>(key);
    if (!range.empty() && name != without_digits(range)) continue;
    std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.span.begin_ns < b.span.begin_ns; });
    if (ranges.size() < kFewestSteps || !are_disjoint(ranges)) continue;
    const TimeSpan whole{ranges.front().span.begin_ns, ranges.back().span.end_ns};
    if (range.empty() && intersect(whole, issuing).length_ns() * 2 < issuing.length_ns()) continue;
    const std::tuple rank{name != "ProfilerStep#", ranges.front().depth, -whole.length_ns()};
    if (best != nullptr && best_rank <= rank) continue;
    best = &ranges;
    best_rank = rank;
    result.name = name;
  }
  if (best == nullptr) return {};
  result.source = result.name == "ProfilerStep#" ? StepSource::kProfilerStep : StepSource::kNvtx;
  for (std::size_t i = 0; i < best->size(); ++i) {
    const Nanoseconds end_ns = i + 1 < best->size() ? (*best)[i + 1].span.begin_ns : (*best)[i].span.end_ns;
    result.steps.push_back({(*best)[i].span.begin_ns, end_ns});
  }
  return result;
}

}  // namespace synctrace
