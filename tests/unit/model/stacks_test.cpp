// SPDX-License-Identifier: Apache-2.0
#include "model/stacks.h"

#include <string>

#include "support/catch.h"

namespace synctrace {
namespace {

using Kind = StackFrame::Kind;

}  // namespace

TEST_CASE("a stack is read frame by frame") {
  const std::vector<StackFrame> frames = parse_stack("n3:1f2A i4294967295:ffffffffffffffff p12:34 p5:-2! ~ | n0:7f00");
  REQUIRE(frames.size() == 7);
  CHECK(frames[0].kind == Kind::kNative);
  CHECK(frames[0].native == CodeAddress{3, 0x1f2a, false});
  CHECK(frames[1].native == CodeAddress{4294967295U, 0xffffffffffffffffU, true});
  CHECK(frames[2].kind == Kind::kPython);
  CHECK(frames[2].code == 12);
  CHECK(frames[2].offset_bytes == 34);
  CHECK_FALSE(frames[2].is_entry);
  CHECK(frames[3].offset_bytes == -2);
  CHECK(frames[3].is_entry);
  CHECK(frames[4].kind == Kind::kMissing);
  CHECK(frames[5].kind == Kind::kUnordered);
  CHECK(frames[6].native.module == 0);
}

TEST_CASE("frames that make no sense are left out") {
  CHECK(parse_stack("").empty());
  for (const char* text : {"p",
                           "p1",
                           "p1:",
                           "p:2",
                           "q1:2",
                           "p1:2x",
                           "p1:2!!",
                           "p99999999999:1",
                           "p1:99999999999",
                           "p-1:2",
                           "n",
                           "n1",
                           "n1:",
                           "n:1",
                           "n-1:2",
                           "n1:-2",
                           "n1:0x2",
                           "n1:g",
                           "n1:10000000000000000",
                           "n99999999999:1",
                           "n1:2!",
                           "i1:",
                           "~~",
                           "|1",
                           "~1"}) {
    CAPTURE(text);
    CHECK(parse_stack(text).empty());
    CHECK(parse_stack(std::string(text) + " p7:8  p9:10").size() == 2);
  }
}

TEST_CASE("a stack has a bounded number of frames whatever its record says") {
  std::string text;
  for (std::size_t i = 0; i < 3 * kMostStackFrames; ++i) text += "n1:1 ";
  const std::vector<StackFrame> frames = parse_stack(text);
  CHECK(frames.size() == kMostStackFrames);
  CHECK(frames.back().kind == Kind::kMissing);
}

}  // namespace synctrace
