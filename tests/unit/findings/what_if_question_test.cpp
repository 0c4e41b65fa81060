// SPDX-License-Identifier: Apache-2.0
#include "findings/what_if_question.h"
#include "support/catch.h"

namespace synctrace {

TEST_CASE("a question names fixes, files and lines") {
  WhatIfQuestion question;
  REQUIRE_FALSE(add_wishes("fix@train.py:88,defer-read@src/a b.py:7", question));
  REQUIRE(question.wishes.size() == 2);
  CHECK_FALSE(question.wishes[0].fix.has_value());
  CHECK(question.wishes[0].file == "train.py");
  CHECK(question.wishes[0].line == 88);
  CHECK(question.wishes[1].fix == Fix::kDeferRead);
  CHECK(question.wishes[1].file == "src/a b.py");
  CHECK(question.wishes[1].line == 7);
}

TEST_CASE("a Windows path has a colon of its own") {
  WhatIfQuestion question;
  REQUIRE_FALSE(add_wishes("fix@C:/code/train.py:12", question));
  CHECK(question.wishes.front().file == "C:/code/train.py");
  CHECK(question.wishes.front().line == 12);
}

TEST_CASE("what is no question is refused in one sentence") {
  for (const char* text : {"train.py:88", "fix@train.py", "fix@train.py:", "fix@train.py:x", "fix@:88",
                           "fix@train.py:0", "no-such@train.py:88", "fix@a:1,,"}) {
    CAPTURE(text);
    WhatIfQuestion question;
    const auto error = add_wishes(text, question);
    REQUIRE(error.has_value());
    CHECK(error->message.ends_with("."));
  }
}

TEST_CASE("assumptions") {
  WhatIfQuestion question;
  CHECK(question.empty());
  REQUIRE_FALSE(add_assumptions("pinned,graph:decode step,no-input-wait", question));
  CHECK(question.pinned);
  CHECK(question.no_input_wait);
  CHECK(question.graph_range == "decode step");
  CHECK_FALSE(question.empty());
  CHECK(add_assumptions("graph:", question).has_value());
  CHECK(add_assumptions("graph:other", question).has_value());
  CHECK(add_assumptions("faster", question).has_value());
}

}  // namespace synctrace
