// SPDX-License-Identifier: Apache-2.0
// Sorting of what is nearly sorted, and searches that remember where they were, against the standard library's.
#include "model/merge_runs.h"

#include <random>
#include <utility>

#include "base/search_from.h"
#include "support/catch.h"

namespace synctrace::testing {
namespace {

using Rows = std::vector<std::pair<int, int>>;  // key, place before sorting
constexpr auto kByKey = [](const auto& a, const auto& b) { return a.first < b.first; };

void check_sorts(Rows rows) {
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].second = static_cast<int>(i);
  Rows expected = rows;
  std::stable_sort(expected.begin(), expected.end(), kByKey);
  merge_runs(rows, kByKey);
  REQUIRE(rows == expected);
}

}  // namespace

TEST_CASE("runs are merged as a stable sort would, however they overlap") {
  std::mt19937 random(7);
  for (int round = 0; round < 2'000; ++round) {
    CAPTURE(round);
    Rows rows;
    const int runs = static_cast<int>(random() % 6);
    for (int run = 0; run < runs; ++run) {
      int key = static_cast<int>(random() % 50) + (round % 2 == 0 ? run * 20 : 0);
      for (int left = static_cast<int>(random() % 40); left > 0; --left)
        rows.emplace_back(key += static_cast<int>(random() % 3), 0);
    }
    check_sorts(rows);
  }
}

TEST_CASE("rows in no order at all are sorted too, and soon") {
  Rows backwards;
  for (int i = 100'000; i > 0; --i) backwards.emplace_back(i / 2, 0);
  check_sorts(backwards);
}

TEST_CASE("a search from anywhere finds what a search of everything finds") {
  std::mt19937 random(11);
  for (int round = 0; round < 20'000; ++round) {
    CAPTURE(round);
    std::vector<int> rows(random() % 30);
    for (int& row : rows) row = static_cast<int>(random() % 20);
    std::sort(rows.begin(), rows.end());
    std::size_t cursor = random() % 40;
    const int wanted = static_cast<int>(random() % 22);
    const auto expected = static_cast<std::size_t>(std::lower_bound(rows.begin(), rows.end(), wanted) - rows.begin());
    REQUIRE(search_from(rows.size(), cursor, [&](std::size_t i) { return rows[i] < wanted; }) == expected);
    REQUIRE(cursor == expected);
  }
}

}  // namespace synctrace::testing
