// SPDX-License-Identifier: Apache-2.0
#include "trial/program_output.h"

#include <string>

#include "support/catch.h"

using namespace synctrace;

namespace {

OutputPattern pattern(const std::string& text) { return OutputPattern::make(text, "--step").value(); }

}  // namespace

TEST_CASE("the step is the middle one, without the first fifth") {
  const OutputPattern step = pattern("ms/step ([0-9.]+)");
  ProgramOutput output(&step, nullptr);
  for (const char* value : {"900", "12", "10", "11", "30"}) output.take(0, std::string("ms/step ") + value + "\n");
  output.end();
  CHECK(output.step() == 12.0);  // the middle of 10, 11, 12 and 30
}

TEST_CASE("one value is that value") {
  const OutputPattern step = pattern("ms/step ([0-9.]+)");
  ProgramOutput output(&step, nullptr);
  output.take(0, "ms/step 7.5");
  CHECK_FALSE(output.step());
  output.end();
  CHECK(output.step() == 7.5);
}

TEST_CASE("lines come in pieces, on two streams, and end in carriage returns too") {
  const OutputPattern step = pattern("t=(\\S+)");
  ProgramOutput output(&step, nullptr);
  output.take(0, "t=");
  output.take(1, "t=1\r");
  output.take(0, "1\rt=1\n");
  output.end();
  CHECK(output.step() == 1.0);
  CHECK(output.last_lines().size() == 3);
}

TEST_CASE("what is no positive number is no step") {
  const OutputPattern step = pattern("t=(\\S+)");
  ProgramOutput output(&step, nullptr);
  output.take(0, "t=nan\nt=inf\nt=-3\nt=0\nt=1e-320\nt=1e300\nt=x\nu=1\n");
  CHECK_FALSE(output.step());
}

TEST_CASE("the last value is compared") {
  const OutputPattern same = pattern("loss=([0-9.]+)");
  ProgramOutput output(nullptr, &same);
  output.take(0, "loss=3\nloss=2\nno more\n");
  CHECK(output.same() == "2");
}

TEST_CASE("a pattern without a group is all of the match") {
  CHECK(pattern("[0-9]+").in("a 17 b") == "17");
  CHECK_FALSE(pattern("[0-9]+").in("none"));
}

TEST_CASE("what is no pattern is refused by the option's name") {
  const Result<OutputPattern> wrong = OutputPattern::make("(", "--same");
  REQUIRE_FALSE(wrong);
  CHECK(wrong.error().message.find("--same '('") != std::string::npos);
  CHECK_FALSE(OutputPattern::make("", "--same"));
}

TEST_CASE("a line without an end takes no memory, and breaks no search") {
  const OutputPattern step = pattern("(a|b)*c([0-9])");
  ProgramOutput output(&step, &step);
  const std::string much(1'000'000, 'a');
  for (int i = 0; i < 20; ++i) output.take(0, much);
  output.end();
  CHECK(output.last_lines().front().size() <= 2'000);
}

TEST_CASE("only the last lines are kept") {
  ProgramOutput output(nullptr, nullptr);
  for (int i = 0; i < 100; ++i) output.take(1, std::to_string(i) + "\n");
  CHECK(output.last_lines().size() == 8);
  CHECK(output.last_lines().back() == "99");
}

TEST_CASE("values are alike as texts, or as numbers within the tolerance") {
  CHECK(are_alike("abc", "abc", 0.0));
  CHECK_FALSE(are_alike("abc", "abd", 1.0));
  CHECK(are_alike("1.0", "1.00", 0.0));
  CHECK(are_alike("2.0", "2.002", 0.0011));
  CHECK_FALSE(are_alike("2.0", "2.002", 0.0009));
  CHECK_FALSE(are_alike("2.0", "", 1.0));
  CHECK(are_alike("-2.0", "-2.002", 0.0011));
}
