// SPDX-License-Identifier: Apache-2.0
// Joins GPU operations with the host calls that issued them, by correlation id. The trace must outlive the joins. Costs
// O(n) where ids were given in about the order of time, as they are, and 12 bytes for each operation.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "model/trace.h"

namespace synctrace {

class Correlation {
 public:
  explicit Correlation(const Trace& trace);

  // Goes on with the same rows at another place, where the trace was moved to.
  void follow(const Trace& trace);

  // The call that issued an operation: the earliest one with its id, and a launch before others.
  struct Issuer {
    bool is_launch = false;  // a row of Trace::launches, else of Trace::calls
    std::uint32_t row = 0;
  };
  std::optional<Issuer> issuer_of(std::uint32_t operation) const noexcept {
    const std::uint32_t packed = issuers_[operation];
    if (packed == kNone) return std::nullopt;
    return Issuer{(packed & 1) != 0, packed >> 1};
  }

  // The work that a call issued: index of its first operation in Trace::operations, and the span of all of it. Nothing
  // for a call that issued none.
  struct Work {
    std::uint32_t first_operation = 0;
    TimeSpan span;
  };
  std::optional<Work> work_of(Issuer issuer) const noexcept;

  // Only the first of that work, at no cost: the whole of it may be all work of the trace.
  std::optional<std::uint32_t> first_work_of(Issuer issuer) const noexcept {
    const std::uint32_t first = issuer.is_launch ? launch_work_[issuer.row] : call_work_[issuer.row];
    return first == kNone ? std::nullopt : std::optional(first);
  }

  // Visits all operations that are not the first of their call: visit(Issuer, operation). Mostly there are none.
  template <class Visit>
  void for_each_further(Visit&& visit) const {
    for (const Further& more : further_) visit(Issuer{(more.issuer & 1) != 0, more.issuer >> 1}, more.operation);
  }

  // When an operation was issued: the begin of its call; of an operation without a recorded call, its own begin. Work
  // cannot begin before its call: where the clocks disagree, the earlier time keeps the order causal.
  Nanoseconds issued_ns(std::uint32_t operation) const noexcept {
    const Nanoseconds begun_ns = trace_->operations[operation].span.begin_ns;
    const auto issuer = issuer_of(operation);
    if (!issuer) return begun_ns;
    return std::min(begun_ns, issuer->is_launch ? trace_->launches[issuer->row].span.begin_ns
                                                : trace_->calls[issuer->row].span.begin_ns);
  }

  // All operations in the order of their issue.
  std::span<const std::uint32_t> by_issue() const noexcept { return by_issue_; }

  std::uint64_t unmatched_operations() const noexcept { return unmatched_operations_; }

 private:
  static constexpr std::uint32_t kNone = 0xffff'ffff;

  // A further operation of a call that issued several: of a graph's launch, its nodes.
  struct Further {
    std::uint32_t issuer = 0;
    std::uint32_t operation = 0;
  };

  void find_issuers();
  void order_by_issue();
  std::span<const Further> further_of(std::uint32_t issuer) const noexcept;

  const Trace* trace_;
  std::vector<std::uint32_t> issuers_;      // row * 2 + is_launch, of each operation
  std::vector<std::uint32_t> launch_work_;  // the first operation of each row
  std::vector<std::uint32_t> call_work_;
  std::vector<Further> further_;  // by issuer, then by begin
  std::vector<std::uint32_t> by_issue_;
  std::uint64_t unmatched_operations_ = 0;
};

}  // namespace synctrace
