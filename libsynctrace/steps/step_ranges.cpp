// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "base/search_from.h"
#include "model/correlate.h"
#include "model/nvtx_ranges.h"
#include "steps/compile_time.h"
#include "steps/step_candidates.h"
#include "steps/step_limits.h"

namespace synctrace {
namespace {

using Key = std::tuple<std::string, ThreadId, NvtxDomainId>;  // the name without digits

std::string without_digits(std::string_view name) {
  std::string result;
  for (const char c : name) {
    if (c < '0' || c > '9') result += c;
  }
  return result;
}

// "step 12", "step" and "step #" name the same steps.
std::string bare_name(std::string_view name) {
  std::string result = without_digits(name);
  while (!result.empty() && std::string_view(" #:-_.").find(result.back()) != std::string_view::npos) result.pop_back();
  return result;
}

std::string_view domain_name(const Trace& trace, NvtxDomainId domain) {
  const auto found = trace.nvtx_domains.find(domain);
  return found == trace.nvtx_domains.end() ? std::string_view() : std::string_view(found->second);
}

// Annotations of zones and allowed waits are no steps, as often as they come.
bool may_be_steps(const Trace& trace, NvtxDomainId domain, std::string_view name) {
  return domain_name(trace, domain) != kAnnotationDomain || bare_name(name) == "step";
}

// XLA marks what it compiles: one range for each function or shape, whatever the program's loop does.
bool is_of_xlas_compiler(const Trace& trace, NvtxDomainId domain, std::string_view name) {
  return name.starts_with("XlaCompile") && domain_name(trace, domain) == "TSL";
}

// Libraries mark each call of theirs: NCCL its operations, Thrust and CUB their algorithms. (Their sources: domains
// "NCCL", "CCCL".)
bool is_of_a_library(const Trace& trace, NvtxDomainId domain) {
  const std::string_view name = domain_name(trace, domain);
  return name == "NCCL" || name == "CCCL";
}

// The ranges with an end and a name, each key's in the order of their begins. A compiler's ranges are left out unless a
// name is `wanted`: it runs what it compiles to choose among kernels.
std::map<Key, std::vector<NvtxRange>> ranges_by_name(const Trace& trace, std::string_view wanted) {
  std::map<Key, std::vector<NvtxRange>> result;
  const CompileTime compiling(trace);
  std::unordered_map<StringId, std::string> names;
  for (const NvtxRange& range : nvtx_ranges(trace)) {
    if (range.open || (wanted.empty() && compiling.has(range.thread, range.span.begin_ns))) continue;
    const auto [name, is_new] = names.try_emplace(range.text);
    if (is_new) {
      const auto text = trace.strings.find(range.text);
      if (text != trace.strings.end()) name->second = without_digits(text->second);
    }
    if (wanted.empty() &&
        (is_of_xlas_compiler(trace, range.domain, name->second) || is_of_a_library(trace, range.domain)))
      continue;
    if (!name->second.empty() && may_be_steps(trace, range.domain, name->second))
      result[{name->second, range.thread, range.domain}].push_back(range);
  }
  return result;
}

bool are_disjoint(const std::vector<NvtxRange>& ranges) {
  for (std::size_t i = 1; i < ranges.size(); ++i) {
    if (ranges[i].span.begin_ns < ranges[i - 1].span.end_ns) return false;
  }
  return true;
}

// Whether the ranges hold half of the work, and half of the time in which work was issued. If setting the program up
// took longer than the steps, they must hold nearly all of the work.
bool are_most_of_it(const std::vector<NvtxRange>& ranges, TimeSpan issuing, const Correlation& correlation) {
  std::vector<TimeSpan> spans;
  for (const NvtxRange& range : ranges) spans.push_back(range.span);
  const TimeSpan whole{ranges.front().span.begin_ns, ranges.back().span.end_ns};
  const bool half_of_time = ratio(intersect(whole, issuing).length_ns(), issuing.length_ns()) >= kAtLeastHalf;
  return share_issued_in(spans, correlation) >= (half_of_time ? kAtLeastHalf : kNearlyAllWork);
}

// A step lasts until the next one begins, but not while something else is done: then about as much work as that of a
// step is issued between their ranges.
void add_steps(const std::vector<NvtxRange>& ranges, const Correlation& correlation, std::vector<Step>& steps) {
  const auto by_issue = correlation.by_issue();
  std::size_t cursor = 0;
  const auto issued_before = [&](Nanoseconds t) {
    return search_from(by_issue.size(), cursor, [&](std::size_t i) { return correlation.issued_ns(by_issue[i]) < t; });
  };
  std::vector<std::size_t> inside;
  for (const NvtxRange& range : ranges) {
    const std::size_t before = issued_before(range.span.begin_ns);
    inside.push_back(issued_before(range.span.end_ns) - before);
  }
  const auto middle = inside.begin() + static_cast<std::ptrdiff_t>(inside.size() / 2);
  std::nth_element(inside.begin(), middle, inside.end());
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const TimeSpan own = ranges[i].span;
    const bool is_last = i + 1 == ranges.size();
    const Nanoseconds next_ns = is_last ? own.end_ns : ranges[i + 1].span.begin_ns;
    const std::size_t until_end = issued_before(own.end_ns);
    const bool does_more = issued_before(next_ns) - until_end > kTimesAStep * *middle;
    steps.push_back({{own.begin_ns, does_more ? own.end_ns : next_ns}});
  }
}

}  // namespace

Steps steps_by_ranges(const Trace& trace, const Correlation& correlation, std::string_view range) {
  Steps result;
  const auto by_issue = correlation.by_issue();
  const TimeSpan issuing =
      by_issue.empty() ? TimeSpan{trace.first_ns, trace.last_ns}
                       : TimeSpan{correlation.issued_ns(by_issue.front()), correlation.issued_ns(by_issue.back())};
  const std::map<Key, std::vector<NvtxRange>> all = ranges_by_name(trace, range);
  const std::vector<NvtxRange>* best = nullptr;
  std::tuple<bool, std::uint32_t, Nanoseconds> best_rank;  // a profiler's steps, depth, minus the time covered
  for (const auto& [key, ranges] : all) {
    const std::string& name = std::get<0>(key);
    if (!range.empty() && bare_name(name) != bare_name(range)) continue;
    if (ranges.size() < kLeastSteps || !are_disjoint(ranges)) continue;
    const TimeSpan whole{ranges.front().span.begin_ns, ranges.back().span.end_ns};
    const std::tuple rank{name != "ProfilerStep#", ranges.front().depth, -whole.length_ns()};
    if (best != nullptr && best_rank <= rank) continue;
    if (range.empty() && !are_most_of_it(ranges, issuing, correlation)) continue;
    best = &ranges;
    best_rank = rank;
    result.name = name;
  }
  if (best == nullptr) return {};
  result.source = result.name == "ProfilerStep#" ? StepSource::kProfilerStep : StepSource::kNvtx;
  add_steps(*best, correlation, result.steps);
  return result;
}

}  // namespace synctrace
