// SPDX-License-Identifier: Apache-2.0
// Several tables of a trace as one sequence in time.
#pragma once

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

// Visits the rows of several tables, each sorted by begin, in the order of their begins.
template <class Visit, class... Row>
void in_order(const Visit& visit, const std::vector<Row>&... tables) {
  std::array<std::size_t, sizeof...(Row)> next{};
  for (;;) {
    Nanoseconds earliest_ns = std::numeric_limits<Nanoseconds>::max();
    std::size_t chosen = next.size();
    std::size_t table = 0;
    const auto look = [&](const auto& rows) {
      if (next[table] < rows.size() && begin_of(rows[next[table]]) < earliest_ns) {
        earliest_ns = begin_of(rows[next[table]]);
        chosen = table;
      }
      ++table;
    };
    (look(tables), ...);
    if (chosen == next.size()) return;
    table = 0;
    const auto take = [&](const auto& rows) {
      if (table++ == chosen) visit(rows[next[chosen]++]);
    };
    (take(tables), ...);
  }
}

}  // namespace synctrace
