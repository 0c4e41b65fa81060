// SPDX-License-Identifier: Apache-2.0
#include "report/words.h"

#include <limits>

#include "support/catch.h"

namespace synctrace {

TEST_CASE("durations keep three or four figures") {
  CHECK(duration_text(0) == "0 ns");
  CHECK(duration_text(999) == "999 ns");
  CHECK(duration_text(1'000) == "1.0 us");
  CHECK(duration_text(999'949) == "999.9 us");
  CHECK(duration_text(999'950) == "1.0 ms");
  CHECK(duration_text(999'950'000) == "1.000 s");
  CHECK(duration_text(83'123'456'789) == "83.123 s");
}

TEST_CASE("sizes and counts") {
  CHECK(bytes_text(1023) == "1023 B");
  CHECK(bytes_text(8U << 20) == "8.0 MiB");
  CHECK(bytes_text((1U << 20) - 1) == "1.0 MiB");
  CHECK(bytes_text(std::numeric_limits<std::uint64_t>::max()) == "16.0 EiB");
  CHECK(count_text(0) == "0");
  CHECK(count_text(999) == "999");
  CHECK(count_text(1'000) == "1,000");
  CHECK(count_text(1'234'567) == "1,234,567");
}

TEST_CASE("a share is 100 % only when it is all") {
  CHECK(share_text(1, 1) == "100.0 %");
  CHECK(share_text(999'999, 1'000'000) == "99.9 %");
  CHECK(share_text(0, 5) == "0.0 %");
  CHECK(share_text(0, 0) == "-");
}

TEST_CASE("recorded names cannot steer the terminal") {
  CHECK(printable("caf\xc3\xa9 \xe6\xbc\xa2") == "caf\xc3\xa9 \xe6\xbc\xa2");
  CHECK(printable("\x1b[31m") == "?[31m");
  CHECK(printable("a\nb") == "a?b");
  CHECK(printable("\xc2\x9b"
                  "31m") == "?31m");
  CHECK(printable("\xff\xc3") == "??");
  CHECK(printable("\xed\xa0\x80") == "???");
  CHECK(printable("\xc0\xaf") == "??");
}

}  // namespace synctrace
