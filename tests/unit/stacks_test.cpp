// SPDX-License-Identifier: Apache-2.0
#include "model/stacks.h"

#include <random>
#include <string>

#include "support/catch.h"

namespace synctrace {

TEST_CASE("a stack is read frame by frame") {
  const std::vector<StackFrame> frames = parse_stack("p12:34 p5:-2! p4294967295:2147483647");
  REQUIRE(frames.size() == 3);
  CHECK(frames[0].code == 12);
  CHECK(frames[0].offset_bytes == 34);
  CHECK_FALSE(frames[0].is_entry);
  CHECK(frames[1].offset_bytes == -2);
  CHECK(frames[1].is_entry);
  CHECK(frames[2].code == 4294967295U);
  CHECK(frames[2].offset_bytes == 2147483647);
}

TEST_CASE("frames that make no sense are left out") {
  CHECK(parse_stack("").empty());
  for (const char* text : {"p", "p1", "p1:", "p:2", "q1:2", "p1:2x", "p1:2!!", "p99999999999:1", "p1:99999999999", "p-1:2"}) {
    CAPTURE(text);
    CHECK(parse_stack(text).empty());
    CHECK(parse_stack(std::string(text) + " p7:8  p9:10").size() == 2);
  }
}

TEST_CASE("any bytes are read without harm") {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    std::string text(random() % 40, ' ');
    for (char& c : text) c = "p0189:! -\xff"[random() % 10];
    CHECK(parse_stack(text).size() <= text.size());
  }
}

TEST_CASE("a frame gets its function, file and line") {
  Trace trace;
  // CPython 3.12: one location entry without columns (kind 13), two code units, two lines down.
  trace.codes[3] = Code{"train.py", "Trainer.step", std::string("\xe9\x04", 2), 10, 0x030c0100};
  trace.stacks[StackId{1}] = parse_stack("p3:0 p8:0");
  const std::vector<ResolvedFrame> frames = resolve_stack(trace, StackId{1});
  REQUIRE(frames.size() == 1);  // the trace does not know function 8
  CHECK(frames[0].function == "Trainer.step");
  CHECK(frames[0].file == "train.py");
  CHECK(frames[0].line == 12);
  CHECK(resolve_stack(trace, StackId{2}).empty());
}

}  // namespace synctrace
