// SPDX-License-Identifier: Apache-2.0
// Sorts what is nearly in order: rows that come in sorted runs (one thread's after another's, one buffer after
// another), each of which reaches back only a little into those before it. Stable. Costs O(n + overlaps) time and the
// memory of the longest run; where the overlaps are large after all, it is a std::stable_sort.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <vector>

namespace synctrace {

template <class Row, class Earlier>
void merge_runs(std::vector<Row>& rows, const Earlier& earlier) {
  constexpr std::size_t kMostMovesPerRow = 32;
  std::size_t moves_left = kMostMovesPerRow * rows.size();
  std::vector<Row> run;
  auto sorted_end = std::is_sorted_until(rows.begin(), rows.end(), earlier);
  while (sorted_end != rows.end()) {
    const auto run_end = std::is_sorted_until(sorted_end, rows.end(), earlier);
    run.assign(sorted_end, run_end);
    auto to = run_end;
    auto from = sorted_end;  // [begin, from) and `run` are left, to be put in front of `to` from the back
    while (!run.empty()) {
      if (from != rows.begin() && earlier(run.back(), *std::prev(from))) {
        *--to = *--from;
      } else {
        *--to = run.back();
        run.pop_back();
      }
    }
    const auto moves = static_cast<std::size_t>(run_end - to);
    if (moves > moves_left) return std::stable_sort(rows.begin(), rows.end(), earlier);
    moves_left -= moves;
    sorted_end = run_end;
  }
}

}  // namespace synctrace
