// SPDX-License-Identifier: Apache-2.0
// Rows of a timeline viewer: which slices share one, and that numbers are handed out once.
#include <random>
#include <vector>

#include "exchange/timeline_rows.h"
#include "support/catch.h"

namespace synctrace::testing {
namespace {

bool cut(TimeSpan a, TimeSpan b) {
  const bool apart = a.end_ns <= b.begin_ns || b.end_ns <= a.begin_ns;
  const bool inside =
      (a.begin_ns <= b.begin_ns && b.end_ns <= a.end_ns) || (b.begin_ns <= a.begin_ns && a.end_ns <= b.end_ns);
  return !apart && !inside;
}

}  // namespace

TEST_CASE("slices that nest or are disjoint share a row") {
  RowGroup rows;
  for (const TimeSpan slice : {TimeSpan{0, 100}, {0, 100}, {10, 50}, {20, 20}, {50, 100}, {100, 100}, {100, 200}}) {
    CHECK(rows.place(slice) == 0);
  }
}

TEST_CASE("a slice that cuts into another one goes to the next row, and a later one back to the first") {
  RowGroup rows;
  CHECK(rows.place({0, 100}) == 0);
  CHECK(rows.place({50, 150}) == 1);
  CHECK(rows.place({60, 160}) == 2);
  CHECK(rows.place({100, 300}) == 0);
}

TEST_CASE("of slices that begin together the outermost may come last") {
  RowGroup rows;
  CHECK(rows.place({0, 1000}) == 0);
  CHECK(rows.place({10, 10}) == 0);
  CHECK(rows.place({10, 20}) == 0);
  CHECK(rows.place({10, 100}) == 0);
  CHECK(rows.place({30, 100}) == 0);
  CHECK(rows.place({40, 101}) == 1);
}

TEST_CASE("slices with parts inside share a row only where they are apart") {
  ApartRows rows;
  CHECK(rows.place({0, 100}) == 0);
  CHECK(rows.place({10, 50}) == 1);
  CHECK(rows.place({50, 60}) == 1);
  CHECK(rows.place({55, 200}) == 2);
  CHECK(rows.place({100, 100}) == 0);
  for (std::size_t i = 0; i < 2 * RowGroup::kMostRows; ++i) CHECK(rows.place({100, 500}) < RowGroup::kMostRows);
}

TEST_CASE("no two slices of a row cut into each other, whatever they are") {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    RowGroup rows;
    std::vector<std::vector<TimeSpan>> placed;
    Nanoseconds now_ns = 0;
    for (int i = 0; i < 60; ++i) {
      now_ns += static_cast<Nanoseconds>(random() % 4);
      const TimeSpan slice{now_ns, now_ns + static_cast<Nanoseconds>(random() % 12)};
      const std::size_t row = rows.place(slice);
      REQUIRE(row <= placed.size());
      if (row == placed.size()) placed.emplace_back();
      for (const TimeSpan other : placed[row]) REQUIRE_FALSE(cut(slice, other));
      placed[row].push_back(slice);
    }
  }
}

TEST_CASE("a number is handed out once") {
  NumberPool numbers;
  CHECK(numbers.claim(7) == 7);
  CHECK(numbers.claim(NumberPool::kFirstSpare) == NumberPool::kFirstSpare);
  CHECK(numbers.claim(7) == NumberPool::kFirstSpare + 1);
  CHECK(numbers.claim(-1) == -1);
  CHECK(numbers.claim(-1) == NumberPool::kFirstSpare + 2);
}

}  // namespace synctrace::testing
