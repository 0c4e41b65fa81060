// SPDX-License-Identifier: Apache-2.0
// Several tables of a trace as one sequence in time.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <vector>

#include "model/trace.h"

namespace synctrace {

template <class Row>
Nanoseconds begin_of(const Row& row) {
  return row.span.begin_ns;
}
inline Nanoseconds begin_of(const NvtxEvent& event) { return event.time_ns; }

// Visits the rows of several tables, each sorted by begin, in the order of their begins. If rows begin together, the
// first table comes first.
template <class Visit, class... Row>
void in_order(const Visit& visit, const std::vector<Row>&... tables) {
  constexpr Nanoseconds kNever = std::numeric_limits<Nanoseconds>::max();
  std::array<std::size_t, sizeof...(Row)> next{};
  const auto next_of = [](const auto& rows, std::size_t row) {
    return row < rows.size() ? begin_of(rows[row]) : kNever;
  };
  std::array<Nanoseconds, sizeof...(Row)> begins_ns{next_of(tables, 0)...};
  for (;;) {
    const auto earliest = std::min_element(begins_ns.begin(), begins_ns.end());
    if (*earliest == kNever) return;
    const auto chosen = static_cast<std::size_t>(earliest - begins_ns.begin());
    std::size_t table = 0;
    const auto take = [&](const auto& rows) {
      if (table++ != chosen) return;
      visit(rows[next[chosen]]);
      *earliest = next_of(rows, ++next[chosen]);
    };
    (take(tables), ...);
  }
}

}  // namespace synctrace
