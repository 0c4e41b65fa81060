// SPDX-License-Identifier: Apache-2.0
// The rows of a timeline viewer. A row is named by two numbers, a process and a thread, and may only hold slices that
// nest or are disjoint: viewers drop a slice that cuts into another one. So numbers are claimed, and a slice that does
// not fit its row goes to a further one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "base/time_span.h"

namespace synctrace {

// Hands out numbers, each once.
class NumberPool {
 public:
  // `wanted` itself, or where that is taken the next free one from kFirstSpare on.
  std::int64_t claim(std::int64_t wanted);
  static constexpr std::int64_t kFirstSpare = 1'000'000;

 private:
  std::set<std::int64_t> taken_;
  std::int64_t next_spare_ = kFirstSpare;
};

// The slices of one row that are still open. Slices come in the order of their begins.
class NestedSlices {
 public:
  // False, and nothing changed, where the slice would cut into one that is there.
  // So does one that comes after more than kMostInside that lie inside it, which no recorder writes.
  bool add(TimeSpan slice);
  static constexpr std::size_t kMostInside = 64;

 private:
  std::vector<TimeSpan> open_;  // outermost first
};

// Rows for the slices of one source: one, and more where they overlap.
class RowGroup {
 public:
  // The index of the row that the slice goes to: 0, unless it would cut into another one there. What overlaps more than
  // kMostRows others, as only a damaged trace can have it, goes to the last row, where viewers drop it.
  std::size_t place(TimeSpan slice);
  static constexpr std::size_t kMostRows = 64;

 private:
  std::vector<NestedSlices> rows_;
};

// The same for slices with parts drawn inside, so that no two of a row may even nest.
class ApartRows {
 public:
  std::size_t place(TimeSpan slice);

 private:
  std::vector<Nanoseconds> ends_ns_;
};

}  // namespace synctrace
