// SPDX-License-Identifier: Apache-2.0
// Texts cut and broken to columns.
#include "render/columns.h"

#include "support/catch.h"

namespace synctrace::testing {

TEST_CASE("a path loses its first folders, never its name") {
  CHECK(fitted_path("a/b/model.py", 20) == "a/b/model.py");
  CHECK(fitted_path("examples/pytorch/point_strokes/model.py", 24) == "point_strokes/model.py");
  CHECK(fitted_path("examples/pytorch/point_strokes/model.py", 10) == "model.py");
  CHECK(fitted_path("examples/a_very_long_name_of_a_file.py", 12) == "a_very_long_name_of_a_file.py");
  CHECK(fitted_path("/tmp/job/train.py", 12) == "job/train.py");
}

TEST_CASE("where there is no room the dots are left") {
  for (const std::size_t columns : {0U, 1U, 2U}) {
    CHECK(fitted("abc", columns) == "..");
    CHECK(fitted_tail("abc", columns) == "..");
    CHECK(fitted_path("folder/abc", columns) == "abc");
  }
}

TEST_CASE("a text breaks between words, and a word that is too long stays whole") {
  CHECK(wrapped_text("one two three", 7) == std::vector<std::string>{"one two", "three"});
  CHECK(wrapped_text("one two three", 8) == std::vector<std::string>{"one two", "three"});
  CHECK(wrapped_text("abcdefghij kl", 4) == std::vector<std::string>{"abcdefghij", "kl"});
  CHECK(wrapped_text("", 4) == std::vector<std::string>{""});
}

TEST_CASE("a number stays with its unit and its range, where a line has room for them") {
  CHECK(wrapped_text("less (12 - 22 %).", 16) == std::vector<std::string>{"less", "(12 - 22 %)."});
  CHECK(wrapped_text("less (12 - 22 %).", 10) == std::vector<std::string>{"less", "(12 - 22", "%)."});
  CHECK(wrapped_text("it takes 40.5 ms", 14) == std::vector<std::string>{"it takes", "40.5 ms"});
  CHECK(wrapped_text("1 2 3", 3) == std::vector<std::string>{"1 2", "3"});
}

}  // namespace synctrace::testing
