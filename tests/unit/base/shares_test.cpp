// SPDX-License-Identifier: Apache-2.0
// A part that is worth naming, to the nanosecond, and for times that no product fits.
#include "base/shares.h"

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

}  // namespace synctrace::testing
