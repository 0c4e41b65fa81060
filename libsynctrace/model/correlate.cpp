// SPDX-License-Identifier: Apache-2.0
#include "model/correlate.h"

#include <numeric>
#include <tuple>

#include "base/large_rows.h"
#include "base/search_from.h"
#include "model/check.h"
#include "model/merge_runs.h"

namespace synctrace {
namespace {

// Finds the rows of a table by their correlation ids. Ids are given in order of time, and tables are sorted by time: so
// the table itself is the index, unless threads overtook each other.
template <class Row>
class ById {
 public:
  explicit ById(const std::vector<Row>& table) : table_(table) {
    const auto by_id = [](const Row& a, const Row& b) { return a.correlation < b.correlation; };
    if (std::is_sorted(table.begin(), table.end(), by_id)) return;
    order_.resize(table.size());
    std::iota(order_.begin(), order_.end(), 0U);
    merge_runs(order_, [&](std::uint32_t a, std::uint32_t b) { return table[a].correlation < table[b].correlation; });
  }

  // The first row with the id. Ids asked for one after the other had better be close.
  std::optional<std::uint32_t> find(CorrelationId id) {
    if (is_at(cursor_ + 1, id) && table_[row(cursor_)].correlation < id) return row(++cursor_);  // nearly always
    const std::size_t at =
        search_from(table_.size(), cursor_, [&](std::size_t i) { return table_[row(i)].correlation < id; });
    if (!is_at(at, id)) return std::nullopt;
    return row(at);
  }

 private:
  bool is_at(std::size_t i, CorrelationId id) const noexcept {
    return i < table_.size() && table_[row(i)].correlation == id;
  }
  std::uint32_t row(std::size_t i) const noexcept { return order_.empty() ? static_cast<std::uint32_t>(i) : order_[i]; }

  const std::vector<Row>& table_;
  std::vector<std::uint32_t> order_;  // empty: that of the table
  std::size_t cursor_ = 0;
};

}  // namespace

Correlation::Correlation(const Trace& trace)
    : trace_(&trace),
      issuers_(large_rows(trace.operations.size(), kNone)),
      launch_work_(large_rows(trace.launches.size(), kNone)),
      call_work_(large_rows(trace.calls.size(), kNone)) {
  find_issuers();
  order_by_issue();
}

void Correlation::follow(const Trace& trace) {
  SYNCTRACE_CHECK(issuers_.size() == trace.operations.size() && launch_work_.size() == trace.launches.size() &&
                  call_work_.size() == trace.calls.size());
  trace_ = &trace;
}

void Correlation::find_issuers() {
  ById launches(trace_->launches);
  ById calls(trace_->calls);
  for (std::uint32_t index = 0; index < issuers_.size(); ++index) {
    const CorrelationId id = trace_->operations[index].correlation;
    const auto launch = number(id) == 0 ? std::nullopt : launches.find(id);
    const auto call = number(id) == 0 || launch ? std::nullopt : calls.find(id);
    if (!launch && !call) {
      ++unmatched_operations_;
      continue;
    }
    issuers_[index] = launch ? *launch * 2 + 1 : *call * 2;
    std::uint32_t& first = launch ? launch_work_[*launch] : call_work_[*call];
    if (first == kNone)
      first = index;
    else
      further_.push_back({issuers_[index], index});
  }
  merge_runs(further_, [](const Further& a, const Further& b) {
    return std::tie(a.issuer, a.operation) < std::tie(b.issuer, b.operation);
  });
}

// The issuers in order of their begins, each with its work; then the work without one. What is out of order then,
// because clocks disagree, is little.
void Correlation::order_by_issue() {
  reserve_large(by_issue_, issuers_.size());
  bool in_order = true;
  Nanoseconds last_ns = 0;
  const auto add = [&](std::uint32_t operation, Nanoseconds called_ns) {
    const Nanoseconds issued_ns = std::min(called_ns, trace_->operations[operation].span.begin_ns);
    in_order = in_order &&
               (last_ns < issued_ns || (last_ns == issued_ns && (by_issue_.empty() || by_issue_.back() < operation)));
    last_ns = issued_ns;
    by_issue_.push_back(operation);
  };
  const auto add_work = [&](std::uint32_t first, std::uint32_t issuer, Nanoseconds called_ns) {
    if (first == kNone) return;
    add(first, called_ns);
    if (further_.empty()) return;
    for (const Further& more : further_of(issuer)) add(more.operation, called_ns);
  };
  std::uint32_t call = 0;
  const auto add_calls_until = [&](Nanoseconds end_ns) {
    for (; call < call_work_.size() && trace_->calls[call].span.begin_ns < end_ns; ++call) {
      add_work(call_work_[call], call * 2, trace_->calls[call].span.begin_ns);
    }
  };
  for (std::uint32_t launch = 0; launch < launch_work_.size(); ++launch) {
    const Nanoseconds begin_ns = trace_->launches[launch].span.begin_ns;
    add_calls_until(begin_ns);
    add_work(launch_work_[launch], launch * 2 + 1, begin_ns);
  }
  add_calls_until(kLatestTime + 1);
  for (std::uint32_t index = 0; unmatched_operations_ > 0 && index < issuers_.size(); ++index) {
    if (issuers_[index] == kNone) add(index, kLatestTime);
  }
  if (in_order) return;
  merge_runs(by_issue_, [&](std::uint32_t a, std::uint32_t b) {
    const Nanoseconds a_ns = issued_ns(a);
    const Nanoseconds b_ns = issued_ns(b);
    return a_ns < b_ns || (a_ns == b_ns && a < b);
  });
}

std::span<const Correlation::Further> Correlation::further_of(std::uint32_t issuer) const noexcept {
  const auto [first, last] = std::equal_range(further_.begin(), further_.end(), Further{issuer, 0},
                                              [](const Further& a, const Further& b) { return a.issuer < b.issuer; });
  return {first, last};
}

std::optional<Correlation::Work> Correlation::work_of(Issuer issuer) const noexcept {
  const std::uint32_t first = issuer.is_launch ? launch_work_[issuer.row] : call_work_[issuer.row];
  if (first == kNone) return std::nullopt;
  TimeSpan span = trace_->operations[first].span;
  for (const Further& more : further_of(issuer.row * 2 + (issuer.is_launch ? 1 : 0))) {
    span.end_ns = std::max(span.end_ns, trace_->operations[more.operation].span.end_ns);
  }
  return Work{first, span};
}

}  // namespace synctrace
