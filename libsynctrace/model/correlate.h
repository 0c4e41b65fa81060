// SPDX-License-Identifier: Apache-2.0
// Joins GPU operations with the host calls that issued them, by correlation id. The trace must outlive the joins.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "model/trace.h"

namespace synctrace {

class Correlation {
 public:
  explicit Correlation(const Trace& trace);

  // The work that a call issued: index of its first operation in Trace::operations, and the span of all of it.
  struct Work {
    std::uint32_t first_operation = 0;
    TimeSpan span;
  };
  // Nothing for id zero and for a call that issued none. O(log n), however many operations carry the id.
  std::optional<Work> work_of(CorrelationId id) const noexcept;

  // The call that issued an operation.
  struct Issuer {
    bool is_launch = false;  // a row of Trace::launches, else of Trace::calls
    std::uint32_t row = 0;
  };
  std::optional<Issuer> issuer_of(std::uint32_t operation) const noexcept {
    const std::uint32_t packed = issuers_[operation];
    if (packed == kNoIssuer) return std::nullopt;
    return Issuer{(packed & 1) != 0, packed >> 1};
  }

  // When an operation was issued: the begin of its call; of an operation without a recorded call, its own begin.
  Nanoseconds issued_ns(std::uint32_t operation) const noexcept { return issued_ns_[operation]; }

  // All operations in the order of their issue.
  std::span<const std::uint32_t> by_issue() const noexcept { return by_issue_; }

  std::uint64_t unmatched_operations() const noexcept { return unmatched_operations_; }

 private:
  static constexpr std::uint32_t kNoIssuer = 0xffff'ffff;
  void find_issuers();

  const Trace& trace_;
  std::vector<std::uint32_t> by_correlation_;
  std::vector<Nanoseconds> latest_end_ns_;  // beside by_correlation_: of the operations of the same id up to here
  std::vector<std::uint32_t> by_issue_;
  std::vector<Nanoseconds> issued_ns_;
  std::vector<std::uint32_t> issuers_;  // row * 2 + is_launch
  std::uint64_t unmatched_operations_ = 0;
};

}  // namespace synctrace
