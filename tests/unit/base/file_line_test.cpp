// SPDX-License-Identifier: Apache-2.0
#include "base/file_line.h"

#include "support/catch.h"

namespace synctrace::testing {

TEST_CASE("a line of source is a file and a number") {
  CHECK(parse_file_line("train.py:88") == FileLine{"train.py", 88});
  CHECK(parse_file_line("C:/code/a b.py:1") == FileLine{"C:/code/a b.py", 1});
}

TEST_CASE("what lacks a part is no line of source") {
  for (const char* text : {"", "train.py", "train.py:", ":88", "train.py:x", "train.py:0", "train.py:8x", "train.py:-1",
                           "train.py:4294967296"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_file_line(text));
  }
}

}  // namespace synctrace::testing
