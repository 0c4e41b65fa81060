// SPDX-License-Identifier: Apache-2.0
#include "model/correlate.h"

#include <algorithm>
#include <numeric>

namespace synctrace {
namespace {

struct Issue {
  CorrelationId correlation{};
  std::uint32_t row = 0;
};

// The rows of a table by correlation; of rows that share an id, the earliest first, as the table is sorted by begin.
template <class Table>
std::vector<Issue> issues_of(const Table& table) {
  std::vector<Issue> issues;
  issues.reserve(table.size());
  for (std::uint32_t row = 0; row < table.size(); ++row) issues.push_back({table[row].correlation, row});
  const auto order = [](const Issue& a, const Issue& b) { return a.correlation < b.correlation; };
  if (!std::is_sorted(issues.begin(), issues.end(), order)) std::stable_sort(issues.begin(), issues.end(), order);
  return issues;
}

template <class Order>
void sort_indices(std::vector<std::uint32_t>& indices, const Order& order) {
  if (!std::is_sorted(indices.begin(), indices.end(), order)) std::stable_sort(indices.begin(), indices.end(), order);
}

}  // namespace

Correlation::Correlation(const Trace& trace)
    : trace_(trace), by_correlation_(trace.operations.size()), issued_ns_(trace.operations.size()),
      issuers_(trace.operations.size(), kNoIssuer) {
  std::iota(by_correlation_.begin(), by_correlation_.end(), 0U);
  by_issue_ = by_correlation_;
  // Operations are sorted by begin and the sort is stable, so those of one call stay in order of begin.
  sort_indices(by_correlation_, [&](std::uint32_t a, std::uint32_t b) {
    return trace.operations[a].correlation < trace.operations[b].correlation;
  });
  latest_end_ns_.reserve(by_correlation_.size());
  for (std::size_t i = 0; i < by_correlation_.size(); ++i) {
    const Operation& operation = trace.operations[by_correlation_[i]];
    const bool same = i > 0 && trace.operations[by_correlation_[i - 1]].correlation == operation.correlation;
    latest_end_ns_.push_back(same ? std::max(latest_end_ns_[i - 1], operation.span.end_ns) : operation.span.end_ns);
  }
  find_issuers();
  sort_indices(by_issue_, [&](std::uint32_t a, std::uint32_t b) { return issued_ns_[a] < issued_ns_[b]; });
}

void Correlation::find_issuers() {
  const std::vector<Issue> calls = issues_of(trace_.calls);
  const std::vector<Issue> launches = issues_of(trace_.launches);
  auto call = calls.begin();
  auto launch = launches.begin();
  const auto skip_to = [](auto& issue, auto end, CorrelationId id) {
    while (issue != end && issue->correlation < id) ++issue;
    return issue != end && issue->correlation == id;
  };
  for (const std::uint32_t index : by_correlation_) {
    const Operation& operation = trace_.operations[index];
    issued_ns_[index] = operation.span.begin_ns;
    const bool by_call = skip_to(call, calls.end(), operation.correlation);
    const bool by_launch = skip_to(launch, launches.end(), operation.correlation);
    if (number(operation.correlation) == 0 || !(by_call || by_launch)) {
      ++unmatched_operations_;
      continue;
    }
    const auto begin_of = [&](bool is_launch) {
      return is_launch ? trace_.launches[launch->row].span.begin_ns : trace_.calls[call->row].span.begin_ns;
    };
    const bool is_launch = by_launch && (!by_call || begin_of(true) < begin_of(false));
    issuers_[index] = (is_launch ? launch->row : call->row) * 2 + (is_launch ? 1 : 0);
    // Work cannot begin before its call: where the clocks disagree, the earlier time keeps the order causal.
    issued_ns_[index] = std::min(begin_of(is_launch), operation.span.begin_ns);
  }
}

std::optional<Correlation::Work> Correlation::work_of(CorrelationId id) const noexcept {
  if (number(id) == 0) return std::nullopt;
  const auto correlation_of = [&](std::uint32_t index) { return trace_.operations[index].correlation; };
  const auto begin =
      std::lower_bound(by_correlation_.begin(), by_correlation_.end(), id,
                       [&](std::uint32_t index, CorrelationId value) { return correlation_of(index) < value; });
  const auto end = std::upper_bound(begin, by_correlation_.end(), id, [&](CorrelationId value, std::uint32_t index) {
    return value < correlation_of(index);
  });
  if (begin == end) return std::nullopt;
  const Nanoseconds end_ns = latest_end_ns_[static_cast<std::size_t>(end - by_correlation_.begin()) - 1];
  return Work{*begin, {trace_.operations[*begin].span.begin_ns, end_ns}};
}

}  // namespace synctrace
