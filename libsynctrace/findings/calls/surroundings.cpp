// SPDX-License-Identifier: Apache-2.0
#include "findings/calls/surroundings.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/glob.h"
#include "base/merged_spans.h"
#include "base/shown_text.h"

namespace synctrace {
namespace {

constexpr std::size_t kMostUnknown = 8;  // different texts: enough to see the mistake

bool is_word(std::string_view text, std::string_view word) {
  return text == word || (text.starts_with(word) && text.size() > word.size() && text[word.size()] == ':');
}

std::string_view behind_colon(std::string_view text) {
  const std::size_t colon = text.find(':');
  return colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
}

}  // namespace

Surroundings::Surroundings(const Trace& trace, const std::vector<std::string>& range_patterns) {
  read_ranges(trace, range_patterns);
  read_marks(trace);
  excluded_ = merged(std::move(excluded_));
  std::sort(steps_.begin(), steps_.end(), [](TimeSpan a, TimeSpan b) { return a.begin_ns < b.begin_ns; });
  // A step lasts to the begin of the next one, as everywhere else.
  for (std::size_t i = 0; i + 1 < steps_.size(); ++i) steps_[i].end_ns = steps_[i + 1].begin_ns;
  std::erase_if(steps_, [](TimeSpan span) { return span.empty(); });
}

Surroundings::Meaning Surroundings::take(const NvtxRange& range, std::string_view domain, std::string_view text,
                                         const std::vector<std::string>& patterns) {
  if (domain == kAnnotationDomain) {
    if (is_word(text, "allow")) return Meaning::kAllow;
    if (is_word(text, "expect-no-sync")) {
      const std::string name = printable(behind_colon(text));
      auto zone = std::find_if(zones_.begin(), zones_.end(), [&](const Zone& known) { return known.name == name; });
      if (zone == zones_.end()) zone = zones_.insert(zones_.end(), {name, 0, 0});
      ++zone->count;
      zone->open += range.open ? 1 : 0;
      return Meaning::kZone;
    }
    if (is_word(text, "step"))
      steps_.push_back(range.span);
    else if (text == "warmup" || text == "ignore")
      excluded_.push_back(range.span);
    else if (unknown_.size() < kMostUnknown && std::find(unknown_.begin(), unknown_.end(), text) == unknown_.end())
      unknown_.emplace_back(text);
  }
  const bool asked = std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
    if (pattern.find('@') == std::string::npos) return matches_glob(pattern, text);
    return matches_glob(pattern, std::string(domain) + '@' + std::string(text));
  });
  return asked ? Meaning::kAsked : Meaning::kNone;
}

void Surroundings::read_ranges(const Trace& trace, const std::vector<std::string>& patterns) {
  const std::vector<NvtxRange> ranges = nvtx_ranges(trace);
  std::vector<Open> opens(ranges.size());
  std::unordered_map<ThreadId, std::vector<std::size_t>> of_thread;
  std::vector<std::size_t> of_all;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const auto text = trace.strings.find(ranges[i].text);
    const auto domain = trace.nvtx_domains.find(ranges[i].domain);
    if (text == trace.strings.end()) continue;
    const std::string_view domain_name = domain == trace.nvtx_domains.end() ? std::string_view() : domain->second;
    opens[i].meaning = take(ranges[i], domain_name, text->second, patterns);
    if (opens[i].meaning == Meaning::kNone) continue;
    opens[i].text = opens[i].meaning == Meaning::kAsked ? std::string(domain_name) + '@' + text->second : text->second;
    (ranges[i].pushed ? of_thread[ranges[i].thread] : of_all).push_back(i);
  }
  for (const auto& [thread, rows] : of_thread) add_changes(ranges, opens, rows, own_[thread]);
  add_changes(ranges, opens, of_all, shared_);
}

// After each begin and end, the set of what is open, the innermost last.
void Surroundings::add_changes(const std::vector<NvtxRange>& ranges, const std::vector<Open>& opens,
                               const std::vector<std::size_t>& rows, std::vector<Change>& out) {
  std::vector<Edge> edges;
  for (const std::size_t row : rows) {
    edges.push_back({ranges[row].span.begin_ns, true, row});
    if (!ranges[row].open) edges.push_back({ranges[row].span.end_ns, false, row});
  }
  std::stable_sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) {
    return std::pair(a.time_ns, a.begins) < std::pair(b.time_ns, b.begins);
  });
  std::vector<std::size_t> open;
  for (const Edge& edge : edges) {
    if (edge.begins)
      open.push_back(edge.range);
    else
      std::erase(open, edge.range);
    std::vector<Open> set;
    for (const std::size_t row : open) set.push_back(opens[row]);
    const std::uint32_t number = intern_set(std::move(set));
    if (!out.empty() && out.back().time_ns == edge.time_ns)
      out.back().set = number;
    else
      out.push_back({edge.time_ns, number});
  }
}

std::uint32_t Surroundings::intern_set(std::vector<Open> set) {
  if (set.empty()) return 0;
  const auto [known, is_new] = set_numbers_.try_emplace(set, static_cast<std::uint32_t>(open_sets_.size()));
  if (is_new) open_sets_.push_back(std::move(set));
  return known->second;
}

void Surroundings::read_marks(const Trace& trace) {
  Nanoseconds paused_ns = -1;
  for (const NvtxEvent& event : trace.nvtx_events) {
    if (event.what != NvtxEvent::What::kMark) continue;
    const auto domain = trace.nvtx_domains.find(event.domain);
    const auto text = trace.strings.find(event.text);
    if (domain == trace.nvtx_domains.end() || domain->second != kAnnotationDomain || text == trace.strings.end())
      continue;
    if (text->second == "pause" && paused_ns < 0) paused_ns = event.time_ns;
    if (text->second == "resume" && paused_ns >= 0) excluded_.push_back({std::exchange(paused_ns, -1), event.time_ns});
  }
  if (paused_ns >= 0) excluded_.push_back({paused_ns, trace.last_ns + 1});
}

bool Surroundings::is_excluded(Nanoseconds t) const noexcept {
  const auto after = std::upper_bound(excluded_.begin(), excluded_.end(), t,
                                      [](Nanoseconds time, TimeSpan span) { return time < span.begin_ns; });
  return after != excluded_.begin() && std::prev(after)->contains(t);
}

std::uint32_t Surroundings::set_at(const std::vector<Change>& changes, Nanoseconds t) {
  const auto after = std::upper_bound(changes.begin(), changes.end(), t,
                                      [](Nanoseconds time, const Change& change) { return time < change.time_ns; });
  return after == changes.begin() ? 0 : std::prev(after)->set;
}

// The thread's own annotations are inside those of the process.
Surrounding Surroundings::combine(std::uint32_t own, std::uint32_t shared) const {
  Surrounding result;
  for (const std::vector<Open>* set : {&open_sets_[own], &open_sets_[shared]}) {
    for (auto open = set->rbegin(); open != set->rend(); ++open) {
      if (open->meaning == Meaning::kAsked) result.ranges.push_back(open->text);
      if (result.strict) continue;
      if (open->meaning == Meaning::kAllow) result.allows.push_back(open->text);
      if (open->meaning != Meaning::kZone) continue;
      result.strict = true;
      result.zone = printable(behind_colon(open->text));
    }
  }
  return result;
}

std::uint32_t Surroundings::at(ThreadId thread, Nanoseconds t) {
  const auto changes = own_.find(thread);
  const std::uint32_t own = changes == own_.end() ? 0 : set_at(changes->second, t);
  const auto [known, is_new] =
      numbers_.try_emplace({own, set_at(shared_, t)}, static_cast<std::uint32_t>(known_.size()));
  if (is_new) known_.push_back(combine(own, known->first.second));
  return known->second;
}

}  // namespace synctrace
