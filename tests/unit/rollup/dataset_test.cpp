// SPDX-License-Identifier: Apache-2.0
#include "rollup/dataset.h"

#include <limits>

#include "support/catch.h"

using namespace synctrace;

TEST_CASE("the place of a recording's rows follows from the recording") {
  CHECK(table_path("runs", "4711", 1'700'000'000'000'000'000, 3, 0xab) ==
        "runs/job=4711/date=2023-11-14/rank=3/00000000000000ab.parquet");
  CHECK(table_path("steps", "", 0, -1, 1) == "steps/job=unnamed/date=1970-01-01/rank=-1/0000000000000001.parquet");
}

TEST_CASE("dates are those of UTC, also before 1970") {
  CHECK(date_text(86'400'000'000'000 - 1) == "1970-01-01");
  CHECK(date_text(86'400'000'000'000) == "1970-01-02");
  CHECK(date_text(-1) == "1969-12-31");
  CHECK(date_text(std::numeric_limits<Nanoseconds>::max()) == "2262-04-11");
}

TEST_CASE("no name of a job leaves its folder") {
  CHECK(folder_value("../a b=c") == "..%2Fa%20b%3Dc");
  CHECK(folder_value("\xc3\xa9%") == "%C3%A9%25");
  const std::string longest = folder_value(std::string(1000, '/'));
  CHECK(longest.size() <= 200);
  CHECK(longest.size() % 3 == 0);  // no escape is cut
  for (const std::string name : {"../a b=c", "\xc3\xa9%", "4711", "%4", ""})
    CHECK(text_of_folder_value(folder_value(name)) == name);
  CHECK(text_of_folder_value("%4") == "%4");
  CHECK(text_of_folder_value("%zz%4g") == "%zz%4g");
}
