// SPDX-License-Identifier: Apache-2.0
#include "trial/chances.h"

#include "support/catch.h"

using synctrace::rank_limit;
using synctrace::student_limit;

namespace {

bool is_near(double value, double wanted) { return value > wanted * 0.999 && value < wanted * 1.001; }

}  // namespace

// Values of printed tables.
TEST_CASE("Student's limits are those of tables") {
  CHECK(is_near(student_limit(0.05, 1), 12.706));
  CHECK(is_near(student_limit(0.05, 2), 4.3027));
  CHECK(is_near(student_limit(0.01, 3), 5.8409));
  CHECK(is_near(student_limit(0.002, 4), 7.1732));
  CHECK(is_near(student_limit(0.002, 10), 4.1437));
  CHECK(is_near(student_limit(0.05, 30), 2.0423));
  CHECK(is_near(student_limit(0.05, 100'000), 1.966));  // from 400 on they hardly change
}

TEST_CASE("the rarest Student's limits are finite") {
  CHECK(student_limit(1e-6, 1) > 1e5);
  CHECK(student_limit(1e-6, 1) < 1e7);
}

// For two rows of n, one order of (2n choose n) has all of one before all of the other, and so has its mirror.
TEST_CASE("rank limits count orders") {
  CHECK(rank_limit(0.05, 3) == -1);   // 2 of 20
  CHECK(rank_limit(0.05, 4) == 0);    // 2 of 70
  CHECK(rank_limit(0.002, 5) == -1);  // 2 of 252
  CHECK(rank_limit(0.0022, 6) == 0);  // 2 of 924
  CHECK(rank_limit(0.05, 5) == 2);    // 1, 1 and 2 orders on each side, of 252
  CHECK(rank_limit(0.05, 10) == 23);  // the printed table for Mann and Whitney's test
  CHECK(rank_limit(0.01, 20) == 105);
  CHECK(rank_limit(0.05, 0) == -1);
}

TEST_CASE("rank limits of many runs go on as those of few") {
  const double step = static_cast<double>(rank_limit(0.002, 25) - rank_limit(0.002, 24));
  CHECK(static_cast<double>(rank_limit(0.002, 26) - rank_limit(0.002, 25)) > 0.5 * step);
  CHECK(static_cast<double>(rank_limit(0.002, 26) - rank_limit(0.002, 25)) < 1.5 * step);
}
