// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "attribution/step_candidates.h"
#include "names/resolve_stack.h"

namespace synctrace {
namespace {

constexpr std::size_t kDeepestFrame = 64;
constexpr double kSmallestShare = 0.5;        // of the work, issued in the steps
constexpr std::size_t kMostEvents = 200'000;  // of the first of them, the loop shows

// One frame of a stack: which function, at which line.
struct Spot {
  std::uint32_t function = 0;
  std::uint32_t line = 0;
};

struct Event {
  Nanoseconds time_ns = 0;
  const std::vector<Spot>* stack = nullptr;  // outermost first
};

// Calls with stacks of the thread that has the most.
class Events {
 public:
  explicit Events(const Trace& trace) : trace_(trace) {
    std::map<ThreadId, std::size_t> counts;
    for (const Call& call : trace.calls) {
      if (number(call.stack) != 0) ++counts[call.thread];
    }
    const auto most = std::max_element(counts.begin(), counts.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most == counts.end()) return;
    for (const Call& call : trace.calls) {
      if (call.thread != most->first || number(call.stack) == 0) continue;
      events_.push_back({call.span.begin_ns, &spots_of(call.stack)});
      if (events_.size() == kMostEvents) break;
    }
  }

  const std::vector<Event>& all() const noexcept { return events_; }
  const std::string& name(std::uint32_t function) const { return names_[function]; }

 private:
  const std::vector<Spot>& spots_of(StackId stack) {
    const auto [entry, is_new] = spots_.try_emplace(stack);
    if (!is_new) return entry->second;
    const std::vector<ResolvedFrame> frames = resolve_stack(trace_, stack);
    for (auto frame = frames.rbegin(); frame != frames.rend() && entry->second.size() < kDeepestFrame; ++frame) {
      const auto [function, is_first] =
          functions_.try_emplace({frame->file, frame->function}, static_cast<std::uint32_t>(names_.size()));
      if (is_first) names_.push_back(frame->function);
      entry->second.push_back({function->second, frame->line});
    }
    return entry->second;
  }

  const Trace& trace_;
  std::vector<Event> events_;
  std::unordered_map<StackId, std::vector<Spot>> spots_;
  std::map<std::tuple<std::string, std::string>, std::uint32_t> functions_;
  std::vector<std::string> names_;
};

using Histogram = std::map<std::uint32_t, std::size_t>;

// Half of the sum of differences of shares: 0 for the same, 1 for nothing in common.
double distance(const Histogram& a, const Histogram& b) {
  double na = 0;
  double nb = 0;
  for (const auto& [line, count] : a) na += static_cast<double>(count);
  for (const auto& [line, count] : b) nb += static_cast<double>(count);
  double sum = 0;
  for (const auto& [line, count] : a) {
    const auto other = b.find(line);
    const double share = other == b.end() ? 0 : static_cast<double>(other->second) / nb;
    sum += std::abs(static_cast<double>(count) / na - share);
  }
  for (const auto& [line, count] : b) {
    if (!a.contains(line)) sum += static_cast<double>(count) / nb;
  }
  return sum / 2;
}

// Events at which the frame at `depth` went back to an earlier line, when what lies between them repeats.
std::vector<std::size_t> back_edges(const std::vector<Event>& events, std::size_t depth, std::uint32_t function) {
  constexpr double kAlike = 0.05;
  std::vector<std::size_t> edges;
  std::vector<Histogram> segments;
  std::uint32_t line = 0;
  bool inside = false;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const std::vector<Spot>& stack = *events[i].stack;
    if (stack.size() <= depth || stack[depth].function != function) continue;
    if (inside && stack[depth].line < line) {
      edges.push_back(i);
      segments.emplace_back();
    }
    inside = true;
    line = stack[depth].line;
    if (!segments.empty()) ++segments.back()[line];
  }
  if (edges.size() < kFewestSteps) return {};
  std::size_t alike = 0;
  for (std::size_t i = 0; i + 2 < segments.size(); ++i) {
    if (distance(segments[i], segments[i + 1]) < kAlike) ++alike;
  }
  return alike * 5 >= (segments.size() - 2) * 4 ? edges : std::vector<std::size_t>{};
}

}  // namespace

StepCandidates steps_by_loop(const Trace& trace, const Correlation& correlation) {
  const Events events(trace);
  const std::vector<Event>& all = events.all();
  if (all.size() < 2 * kFewestSteps) return {};
  for (std::size_t depth = 0; depth < kDeepestFrame; ++depth) {
    std::map<std::uint32_t, std::size_t> counts;
    for (const Event& event : all) {
      if (event.stack->size() > depth) ++counts[(*event.stack)[depth].function];
    }
    const auto most = std::max_element(counts.begin(), counts.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    // Common to all but set-up and tear-down.
    if (most == counts.end() || most->second * 2 < all.size()) return {};
    const std::vector<std::size_t> edges = back_edges(all, depth, most->first);
    if (edges.empty()) continue;
    StepCandidates result{StepSource::kLoop, events.name(most->first), {}};
    for (std::size_t i = 0; i + 1 < edges.size(); ++i)
      result.steps.push_back({all[edges[i]].time_ns, all[edges[i + 1]].time_ns});
    if (share_issued_in(result.steps, correlation) >= kSmallestShare) return result;
  }
  return {};
}

}  // namespace synctrace
