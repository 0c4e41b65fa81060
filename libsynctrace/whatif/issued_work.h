// SPDX-License-Identifier: Apache-2.0
// The pieces of work that each call issued, in order: lists through one index, no search. The trace must outlive it.
#pragma once

#include <cstdint>
#include <vector>

#include "model/correlate.h"
#include "model/stream_order.h"

namespace synctrace {

class IssuedWork {
 public:
  IssuedWork(const Correlation& correlation, const Trace& trace)
      : of_launch_(trace.launches.size(), kNoRow),
        of_call_(trace.calls.size(), kNoRow),
        next_(trace.operations.size(), kNoRow) {
    const auto by_issue = correlation.by_issue();
    for (auto row = by_issue.rbegin(); row != by_issue.rend(); ++row) {
      const auto issuer = correlation.issuer_of(*row);
      if (!issuer) continue;
      std::uint32_t& first = issuer->is_launch ? of_launch_[issuer->row] : of_call_[issuer->row];
      next_[*row] = first;
      first = *row;
    }
  }

  // The first operation of a row of Trace::launches or calls, and the one after an operation; kNoRow: none.
  std::uint32_t of_launch(std::uint32_t row) const noexcept { return of_launch_[row]; }
  std::uint32_t of_call(std::uint32_t row) const noexcept { return of_call_[row]; }
  std::uint32_t next(std::uint32_t operation) const noexcept { return next_[operation]; }

 private:
  std::vector<std::uint32_t> of_launch_;
  std::vector<std::uint32_t> of_call_;
  std::vector<std::uint32_t> next_;
};

}  // namespace synctrace
