// SPDX-License-Identifier: Apache-2.0
#include "names/resolve_stack.h"

#include <random>
#include <string>

#include "model/stacks.h"
#include "support/catch.h"

namespace synctrace {
namespace {

// One location entry of CPython 3.12 without columns (kind 13): two code units, two lines below the first.
Code code_of(const std::string& file, const std::string& function) {
  return {file, function, std::string("\xe9\x04", 2), 10, 0x030c0100};
}

// "step@train.py:12 libtorch.so+0x10 ..": enough of each frame to compare.
std::string words(const std::vector<ResolvedFrame>& frames) {
  std::string text;
  for (const ResolvedFrame& frame : frames) {
    text += (text.empty() ? "" : " ") + (frame.kind == FrameKind::kMissing ? "~" : frame.function);
    if (frame.line > 0) text += "@" + frame.file + ":" + std::to_string(frame.line);
    if (frame.is_eval_loop) text += "!";
  }
  return text;
}

ResolvedFrame named(const std::string& function, std::uint32_t line, bool inlined) {
  ResolvedFrame frame;
  frame.named = true;
  frame.function = function;
  frame.file = "a.cpp";
  frame.line = line;
  frame.inlined = inlined;
  return frame;
}

}  // namespace

TEST_CASE("any bytes are read without harm") {
  std::mt19937 random(7);
  for (int round = 0; round < 5000; ++round) {
    std::string text(random() % 40, ' ');
    for (char& c : text) c = "pni0189af:!~| -\xff"[random() % 16];
    Trace trace;
    trace.stacks[StackId{1}] = parse_stack(text);
    CHECK(trace.stacks[StackId{1}].size() <= text.size());
    CHECK(resolve_stack(trace, StackId{1}).size() <= text.size());
  }
}

TEST_CASE("a frame gets its function, file and line") {
  Trace trace;
  trace.codes[3] = code_of("train.py", "Trainer.step");
  trace.stacks[StackId{1}] = parse_stack("p3:0 p8:0");
  const std::vector<ResolvedFrame> frames = resolve_stack(trace, StackId{1});
  REQUIRE(frames.size() == 1);  // the trace does not know function 8
  CHECK(frames[0].named);
  CHECK(frames[0].function == "Trainer.step");
  CHECK(frames[0].file == "train.py");
  CHECK(frames[0].line == 12);
  CHECK(resolve_stack(trace, StackId{2}).empty());
}

TEST_CASE("code without a name is not named") { CHECK_FALSE(resolve_code(code_of("train.py", ""), 0).named); }

TEST_CASE("native frames keep their places between the Python frames") {
  Trace trace;
  trace.codes[1] = code_of("train.py", "step");
  trace.codes[2] = code_of("train.py", "main");
  trace.modules[1] = Module{"/opt/torch/libtorch.so", "", 0, 0, 0, 0, 0};
  trace.modules[2] = Module{"/usr/lib/libpython3.12.so.1.0", "", 0, 0, 0, 0, 0};
  trace.stacks[StackId{1}] = parse_stack("n1:10 p1:0 p2:0! n2:20 n2:30 p2:0! n2:20 ~");
  CHECK(words(resolve_stack(trace, StackId{1})) ==
        "libtorch.so+0x10 step@train.py:12 main@train.py:12 libpython3.12.so.1.0+0x20! libpython3.12.so.1.0+0x30 "
        "main@train.py:12 libpython3.12.so.1.0+0x20! ~");
  // Side by side, no native frame is known to be an eval loop.
  trace.stacks[StackId{2}] = parse_stack("p1:0! | n1:10 n2:20");
  CHECK(words(resolve_stack(trace, StackId{2})) == "step@train.py:12 libtorch.so+0x10 libpython3.12.so.1.0+0x20");
}

TEST_CASE("an address has the name of its symbol, and one for each inlined function") {
  Trace trace;
  trace.modules[1] = Module{"/app/train", "", 0, 0, 0, 0, 0};
  trace.symbols[{1, 0x10, false}] = {named("wait", 3, true), named("step", 9, false)};
  trace.symbols[{1, 0x10, true}] = {named("other", 4, false)};
  trace.stacks[StackId{1}] = parse_stack("n1:10 i1:10 n1:11 n7:12 n0:7fff0000");
  const std::vector<ResolvedFrame> frames = resolve_stack(trace, StackId{1});
  CHECK(words(frames) == "wait@a.cpp:3 step@a.cpp:9 other@a.cpp:4 train+0x11 0x12 0x7fff0000");
  CHECK(frames[0].inlined);
  CHECK(frames[1].module == "/app/train");
  CHECK_FALSE(frames[3].named);
}

TEST_CASE("a stack has a bounded size whatever the trace says") {
  std::string text;
  for (std::size_t i = 0; i < 3 * kMostStackFrames; ++i) text += "n1:1 ";
  Trace trace;
  trace.stacks[StackId{1}] = parse_stack(text);
  trace.symbols[{1, 1, false}].assign(kMostInlined, named("f", 1, true));
  CHECK(resolve_stack(trace, StackId{1}).size() == kMostStackFrames);
  CHECK(resolve_stack(trace, StackId{1}).back().kind == FrameKind::kMissing);

  trace.symbols[{1, 1, false}] = {named(std::string(kMostStackText / 4, 'x'), 1, false)};
  CHECK(resolve_stack(trace, StackId{1}).size() == 4);
}

}  // namespace synctrace
