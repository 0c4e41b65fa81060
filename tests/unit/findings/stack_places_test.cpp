// SPDX-License-Identifier: Apache-2.0
// From a stack to the user's own line and what is shown of it.
#include "findings/calls/stack_places.h"

#include <string>

#include "model/stacks.h"
#include "support/catch.h"

namespace synctrace {
namespace {

// "step" at line 12 of train.py, called by "main" at its line 10, whose text is given.
Trace trace_of(const std::string& text_of_main) {
  Trace trace;
  trace.codes[1] = Code{"/home/ada/train.py", "step", std::string("\xe9\x04", 2), 10, 0x030c0100};
  trace.codes[2] = Code{"/home/ada/train.py", "main", std::string("\xe9\x00", 2), 10, 0x030c0100};
  trace.modules[1] = Module{"/opt/venv/lib/python3.12/site-packages/torch/lib/libtorch.so", "", 0, 0, 0, 0, 0};
  trace.stacks[StackId{1}] = parse_stack("n1:10 p1:0 p2:0");
  trace.stacks[StackId{2}] = parse_stack("n1:20 p1:0");
  trace.stacks[StackId{3}] = parse_stack("n1:10 p2:0");
  trace.source_lines[{"/home/ada/train.py", 12}] = "loss.item()";
  trace.source_lines[{"/home/ada/train.py", 10}] = text_of_main;
  return trace;
}

}  // namespace

TEST_CASE("stacks at one line are one place, whatever is around it") {
  const Trace trace = trace_of("step()");
  StackPlaces places(trace, UserCode());
  const StackPlace step = places.place_of(StackId{1});
  CHECK(number(step) != 0);
  CHECK(places.place_of(StackId{2}) == step);
  CHECK(places.place_of(StackId{3}) != step);
  CHECK(number(places.place_of(StackId{77})) == 0);
  const SourceLine line = places.line_of(step);
  CHECK(line.file == "/home/ada/train.py");
  CHECK(line.line == 12);
  CHECK(line.function == "step");
  CHECK(line.source == "loss.item()");
  REQUIRE(line.stack.size() == 3);
  CHECK(line.stack[2].frame.function == "main");
  CHECK(line.stack[2].source == "step()");
}

TEST_CASE("when much has been described, a stack is its shown frame alone") {
  constexpr std::size_t kMost = 400'000;
  const Trace trace = trace_of(std::string(kMost / 4, 'x'));
  StackPlaces places(trace, UserCode(), kMost);
  const StackPlace step = places.place_of(StackId{1});
  for (int i = 0; i < 4; ++i) CHECK(places.line_of(step).stack.size() == 3);
  const SourceLine line = places.line_of(step);
  REQUIRE(line.stack.size() == 1);
  CHECK(line.stack[0].frame.function == "step");
  CHECK(line.line == 12);
  CHECK(line.source == "loss.item()");
}

}  // namespace synctrace
