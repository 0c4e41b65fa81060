// SPDX-License-Identifier: Apache-2.0
// From a stack to the user's own line and what is shown of it.
#include "findings/calls/stack_places.h"

#include <string>

#include "model/stacks.h"
#include "support/catch.h"

namespace synctrace::stack_places_test {
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

TEST_CASE("a wait inside of a library that has a switch for it is told apart from others of the same line") {
  Trace trace;
  const std::string trainer = "/usr/lib/python3/site-packages/transformers/trainer.py";
  trace.codes[1] = Code{"/home/ada/train.py", "main", std::string("\xe9\x00", 2), 20, 0x030c0100};
  trace.codes[2] = Code{trainer, "Trainer._inner_training_loop", std::string("\xe9\x00\xe9\x02", 4), 200, 0x030c0100};
  trace.stacks[StackId{1}] = parse_stack("p2:0 p1:0");
  trace.stacks[StackId{2}] = parse_stack("p2:4 p1:0");
  trace.stacks[StackId{3}] = parse_stack("p1:0");
  trace.source_lines[{trainer, 200}] = "torch.isnan(step_loss)";
  StackPlaces places(trace, UserCode());
  const StackPlace inside = places.place_of(StackId{1});
  CHECK(places.place_of(StackId{2}) == places.place_of(StackId{3}));
  CHECK(inside != places.place_of(StackId{3}));
  const SourceLine line = places.line_of(inside);
  CHECK(line.line == 20);
  CHECK(line.through.line == 200);
  CHECK(line.through.is_library);
  CHECK(!line.through.is_users());
  CHECK(!places.line_of(StackId{3}).through.known());

  StackPlaces own(trace, UserCode(), StackPlaces::kMostDescribedBytes, HelperPlaces::kOwnLine);
  CHECK(own.place_of(StackId{1}) == own.place_of(StackId{3}));
}

namespace {

// "to_host" of utils.py, called at two lines of "train", which launches a kernel at a third.
Trace trace_of_helper() {
  Trace trace;
  trace.codes[1] = Code{"/home/ada/utils.py", "to_host", std::string("\xe9\x04", 2), 5, 0x030c0100};
  trace.codes[2] = Code{"/home/ada/train.py", "train", "\xe9\x04\xe9\x02\xe9\x02", 40, 0x030c0100};
  trace.stacks[StackId{1}] = parse_stack("p1:0 p2:0");
  trace.stacks[StackId{2}] = parse_stack("p1:0 p2:4");
  trace.stacks[StackId{3}] = parse_stack("p2:8");
  trace.source_lines[{"/home/ada/utils.py", 7}] = "return x.cpu()";
  trace.source_lines[{"/home/ada/train.py", 42}] = "loss = to_host(total)";
  for (const std::uint32_t stack : {1U, 2U}) {
    Call& call = trace.calls.emplace_back();
    call.category = ApiCategory::kCopyAsync;
    call.stack = StackId{stack};
  }
  trace.launches.emplace_back().stack = StackId{3};
  return trace;
}

}  // namespace

TEST_CASE("a copy in a helper is at the line that calls it") {
  Trace trace = trace_of_helper();
  StackPlaces places(trace, UserCode());
  CHECK(places.place_of(StackId{1}) != places.place_of(StackId{2}));
  const SourceLine line = places.line_of(StackId{1});
  CHECK(line.file == "/home/ada/train.py");
  CHECK(line.line == 42);
  CHECK(line.function == "train");
  CHECK(line.source == "loss = to_host(total)");
  CHECK(line.stack.size() == 2);
  CHECK(line.through.file == "/home/ada/utils.py");
  CHECK(line.through.line == 7);
  CHECK(line.through.function == "to_host");
  CHECK(line.through.source == "return x.cpu()");
  CHECK_FALSE(places.line_of(StackId{3}).through.known());

  const StackPlaces own(trace, UserCode(), StackPlaces::kMostDescribedBytes, HelperPlaces::kOwnLine);
  CHECK(own.line_of(StackId{1}).line == 7);
  CHECK_FALSE(own.line_of(StackId{1}).through.known());
}

TEST_CASE("a direct call at the line of a helper's caller is another place") {
  Trace trace = trace_of_helper();
  trace.stacks[StackId{4}] = parse_stack("p2:0");
  StackPlaces places(trace, UserCode());
  CHECK(places.place_of(StackId{4}) != places.place_of(StackId{1}));
}

TEST_CASE("without stacks of launches nothing tells a helper") {
  Trace trace = trace_of_helper();
  trace.launches.front().stack = StackId{};
  StackPlaces places(trace, UserCode());
  CHECK(places.line_of(StackId{1}).line == 7);
  CHECK(places.place_of(StackId{1}) == places.place_of(StackId{2}));
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

}  // namespace synctrace::stack_places_test
