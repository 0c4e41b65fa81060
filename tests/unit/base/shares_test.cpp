// SPDX-License-Identifier: Apache-2.0
// Limits that are shares: to the bit, to the nanosecond, and for times that no product fits.
#include "base/shares.h"

#include <cstdint>
#include <limits>

#include "support/catch.h"

namespace synctrace::testing {

TEST_CASE("one in so many, or more") {
  for (Nanoseconds whole = 0; whole < 30; ++whole) {
    for (Nanoseconds part = -3; part < 30; ++part) {
      CAPTURE(part, whole);
      CHECK(is_at_least(part, whole, 7) == (part * 7 >= whole));
    }
  }
  constexpr Nanoseconds kMost = std::numeric_limits<Nanoseconds>::max();
  CHECK(is_at_least(kMost, kMost, 100));
  CHECK_FALSE(is_at_least(kMost / 101, kMost, 100));
}

TEST_CASE("a share has the value of its literal to the bit") {
  CHECK(percent(70).fraction() == 0.7);
  CHECK(percent(45).fraction() == 0.45);
  CHECK(Share(1, 500).fraction() == 0.002);
  CHECK(percent(20).of(15.0) == 0.2 * 15.0);
}

TEST_CASE("counts are compared with a share without rounding") {
  CHECK(ratio(8, 10) >= percent(80));
  CHECK_FALSE(ratio(8, 10) > percent(80));
  CHECK(ratio(std::uint64_t{799'999'999}, std::uint64_t{1'000'000'000}) < percent(80));
  CHECK(ratio(3, 2) <= percent(150));
  CHECK(ratio(51, 50) < Share(50, 49));
  CHECK(ratio(51, 49) > Share(50, 49));
  CHECK(ratio(0, 0) >= percent(80));
  CHECK(0.8 >= percent(80));
  CHECK(0.79 < percent(80));
}

TEST_CASE("a share of a whole number is rounded down") {
  CHECK(percent(10).of(19) == 1);
  CHECK(percent(25).of(Nanoseconds{7}) == 1);
  CHECK(percent(150).of(Nanoseconds{7}) == 10);
  CHECK(percent(2).of(Nanoseconds{49}) == 0);
}

TEST_CASE("the share of the latest time is in range") {
  CHECK(percent(90).of(kLatestTime) == kLatestTime / 10 * 9 + kLatestTime % 10 * 9 / 10);
  CHECK(ratio(kLatestTime, kLatestTime) >= percent(100));
}

}  // namespace synctrace::testing
