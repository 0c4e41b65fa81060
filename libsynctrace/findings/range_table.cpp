// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "attribution/attribute.h"
#include "attribution/evidence.h"
#include "base/merged_spans.h"
#include "base/shown_text.h"
#include "findings/report_parts.h"
#include "model/nvtx_ranges.h"

namespace synctrace {
namespace {

// From so many names on that differ in their digits alone, they are one row.
constexpr std::size_t kFewNames = 16;

using Spans = std::vector<TimeSpan>;  // disjoint and in order, once merged

// A quantity that grows with time, asked for what it grew by between two of the times that were named beforehand: it
// keeps one sum for each of these, however often it grows.
class Running {
 public:
  // That it will be asked for; all of them before the first step.
  void name(Nanoseconds t) { named_ns_.push_back(t); }
  void sort_names() { std::sort(named_ns_.begin(), named_ns_.end()); }

  // In order of time: from then on it is larger by `amount`.
  void step(Nanoseconds t, Nanoseconds amount) {
    const Nanoseconds total_ns = add_saturated(points_.empty() ? 0 : points_.back().total_ns, amount);
    const bool asked_since = next_ < named_ns_.size() && named_ns_[next_] <= t;
    if (points_.empty() || asked_since)
      points_.push_back({t, total_ns});
    else
      points_.back().total_ns = total_ns;
    while (next_ < named_ns_.size() && named_ns_[next_] <= t) ++next_;
  }

  Nanoseconds within(TimeSpan span) const { return before(span.end_ns) - before(span.begin_ns); }

 private:
  struct Point {
    Nanoseconds time_ns = 0;
    Nanoseconds total_ns = 0;
  };
  Nanoseconds before(Nanoseconds t) const {
    const auto at = std::lower_bound(points_.begin(), points_.end(), t,
                                     [](const Point& p, Nanoseconds time) { return p.time_ns < time; });
    return at == points_.begin() ? 0 : std::prev(at)->total_ns;
  }
  std::vector<Nanoseconds> named_ns_;
  std::size_t next_ = 0;  // the first name after the last step
  std::vector<Point> points_;
};

// How much of the time was covered up to each of some moments: one sum for each of these, however many spans cover it.
class Covered {
 public:
  explicit Covered(const std::vector<Nanoseconds>& moments) : moments_(&moments) {}

  // Disjoint, in order of time.
  void add(TimeSpan span) {
    for (std::size_t next = before_ns_.size(); next < moments_->size() && (*moments_)[next] < span.end_ns; ++next) {
      before_ns_.push_back(total_ns_ + std::max(Nanoseconds{0}, (*moments_)[next] - span.begin_ns));
    }
    total_ns_ += span.length_ns();
  }

  // The figures of a span between two of the moments, once all are added.
  Nanoseconds within(TimeSpan span) const { return before(span.end_ns) - before(span.begin_ns); }

 private:
  Nanoseconds before(Nanoseconds moment) const {
    const auto at =
        static_cast<std::size_t>(std::lower_bound(moments_->begin(), moments_->end(), moment) - moments_->begin());
    return at < before_ns_.size() ? before_ns_[at] : total_ns_;
  }
  const std::vector<Nanoseconds>* moments_;  // sorted
  std::vector<Nanoseconds> before_ns_;       // beside them, as far as spans reach
  Nanoseconds total_ns_ = 0;
};

// The time in windows in which some work of a device ran, span by span. Work comes in the order of its begin.
class BusySpans {
 public:
  BusySpans(const std::vector<Window>& windows, Covered& covered) : windows_(windows), covered_(covered) {}

  void add(TimeSpan work) {
    if (work.begin_ns <= open_.end_ns) {
      open_.end_ns = std::max(open_.end_ns, work.end_ns);
      return;
    }
    close();
    open_ = work;
  }

  void close() {
    while (window_ < windows_.size() && windows_[window_].span.end_ns <= open_.begin_ns) ++window_;
    for (std::size_t i = window_; i < windows_.size() && windows_[i].span.begin_ns < open_.end_ns; ++i) {
      if (const TimeSpan both = intersect(open_, windows_[i].span); !both.empty()) covered_.add(both);
    }
    open_ = {};
  }

 private:
  const std::vector<Window>& windows_;
  Covered& covered_;
  std::size_t window_ = 0;
  TimeSpan open_;
};

// What the devices and threads did, to be asked about spans that begin and end where ranges do.
class Background {
 public:
  Background(const Trace& trace, const Attribution& attribution, const std::vector<NvtxRange>& ranges)
      : moments_(moments_of(ranges)), windows_(moments_) {
    for (const Window& window : trace.windows) windows_.add(window.span);
    add_busy(trace, attribution);
    for (const NvtxRange& range : ranges) {
      for (auto* by_thread : {&blocked_, &issued_}) {
        (*by_thread)[range.thread].name(range.span.begin_ns);
        (*by_thread)[range.thread].name(range.span.end_ns);
      }
    }
    for (auto* by_thread : {&blocked_, &issued_}) {
      for (auto& [thread, running] : *by_thread) running.sort_names();
    }
    for (std::size_t row = 0; row < trace.calls.size(); ++row) {
      const Nanoseconds blocked_ns = attribution.judgements[row].blocked_ns;
      if (blocked_ns > 0) step(blocked_, trace.calls[row].thread, trace.calls[row].span.begin_ns, blocked_ns);
    }
    const Correlation& correlation = attribution.evidence->correlation;
    for (const std::uint32_t row : correlation.by_issue()) {
      const auto issuer = correlation.issuer_of(row);
      if (!issuer) continue;
      const ThreadId thread = issuer->is_launch ? trace.launches[issuer->row].thread : trace.calls[issuer->row].thread;
      step(issued_, thread, correlation.issued_ns(row), trace.operations[row].span.length_ns());
    }
  }

  // What the devices did; `spans` are merged.
  void add_devices(const Spans& spans, RangeReport& range) const {
    for (const auto& [device, busy] : busy_) {
      for (const TimeSpan span : spans) {
        const Nanoseconds busy_ns = busy.within(span);
        range.busy_ns = add_saturated(range.busy_ns, busy_ns);
        range.idle_ns = add_saturated(range.idle_ns, windows_.within(span) - busy_ns);
      }
    }
  }

  // What one thread did.
  void add_thread(ThreadId thread, const Spans& spans, RangeReport& range) const {
    for (const TimeSpan span : spans) {
      range.host_blocked_ns = add_saturated(range.host_blocked_ns, grown(blocked_, thread, span));
      range.issued_ns = add_saturated(range.issued_ns, grown(issued_, thread, span));
    }
  }

 private:
  using ByThread = std::unordered_map<ThreadId, Running>;

  // Operations are in the order of their begins.
  void add_busy(const Trace& trace, const Attribution& attribution) {
    std::map<DeviceId, BusySpans> spans;
    const auto spans_of = [&](DeviceId device) -> BusySpans& {
      Covered& covered = busy_.try_emplace(device, moments_).first->second;
      return spans.try_emplace(device, trace.windows, covered).first->second;
    };
    for (const auto& [device, state] : attribution.devices) spans_of(device);
    BusySpans* last = nullptr;
    DeviceId last_device{};
    for (const Operation& operation : trace.operations) {
      if (last == nullptr || operation.device != last_device) last = &spans_of(last_device = operation.device);
      last->add(operation.span);
    }
    for (auto& [device, open] : spans) open.close();
  }

  // Threads without ranges are never asked about.
  static void step(ByThread& by_thread, ThreadId thread, Nanoseconds t, Nanoseconds amount) {
    const auto found = by_thread.find(thread);
    if (found != by_thread.end()) found->second.step(t, amount);
  }
  static std::vector<Nanoseconds> moments_of(const std::vector<NvtxRange>& ranges) {
    std::vector<Nanoseconds> moments;
    for (const NvtxRange& range : ranges) moments.insert(moments.end(), {range.span.begin_ns, range.span.end_ns});
    std::sort(moments.begin(), moments.end());
    moments.erase(std::unique(moments.begin(), moments.end()), moments.end());
    return moments;
  }
  static Nanoseconds grown(const ByThread& by_thread, ThreadId thread, TimeSpan span) {
    const auto found = by_thread.find(thread);
    return found == by_thread.end() ? 0 : found->second.within(span);
  }

  const std::vector<Nanoseconds> moments_;  // at which ranges begin and end
  Covered windows_;
  std::map<DeviceId, Covered> busy_;
  ByThread blocked_;
  ByThread issued_;
};

std::string with_marked_digits(std::string_view name) {
  std::string result;
  for (const char c : name) {
    const bool is_digit = c >= '0' && c <= '9';
    if (!is_digit)
      result += c;
    else if (!result.ends_with('#'))
      result += '#';
  }
  return result;
}

// The row that each range's text goes to.
std::unordered_map<StringId, std::string> row_names(const Trace& trace, const std::vector<NvtxRange>& ranges) {
  std::unordered_map<StringId, std::string> names;
  for (const NvtxRange& range : ranges) {
    const auto text = trace.strings.find(range.text);
    names.try_emplace(range.text, text == trace.strings.end() ? std::string("?") : printable(text->second));
  }
  std::unordered_map<std::string, std::size_t> alike;
  for (const auto& [id, name] : names) ++alike[with_marked_digits(name)];
  for (auto& [id, name] : names) {
    const std::string marked = with_marked_digits(name);
    if (alike[marked] > kFewNames) name = marked;
  }
  return names;
}

}  // namespace

void add_ranges(const Trace& trace, const Attribution& attribution, Report& report) {
  const std::vector<NvtxRange> ranges = nvtx_ranges(trace);
  if (ranges.empty()) return;
  struct Draft {
    RangeReport row;
    std::map<ThreadId, Spans> spans;
  };
  const auto names = row_names(trace, ranges);
  std::map<std::pair<NvtxDomainId, std::string>, Draft> drafts;
  for (const NvtxRange& range : ranges) {
    Draft& draft = drafts[{range.domain, names.at(range.text)}];
    ++draft.row.count;
    draft.row.host_ns = add_saturated(draft.row.host_ns, range.span.length_ns());
    draft.spans[range.thread].push_back(range.span);
  }
  const Background background(trace, attribution, ranges);
  for (auto& [key, draft] : drafts) {
    draft.row.name = key.second;
    const auto domain = trace.nvtx_domains.find(key.first);
    if (domain != trace.nvtx_domains.end()) draft.row.domain = printable(domain->second);
    Spans all;
    for (auto& [thread, spans] : draft.spans) {
      spans = merged(std::move(spans));
      background.add_thread(thread, spans, draft.row);
      all.insert(all.end(), spans.begin(), spans.end());
    }
    background.add_devices(merged(std::move(all)), draft.row);
    report.ranges.push_back(std::move(draft.row));
  }
  std::stable_sort(report.ranges.begin(), report.ranges.end(), [](const RangeReport& a, const RangeReport& b) {
    return std::tie(b.idle_ns, b.host_ns) < std::tie(a.idle_ns, a.host_ns);
  });
}

}  // namespace synctrace
