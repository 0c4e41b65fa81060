// SPDX-License-Identifier: Apache-2.0
// Which function's loop the steps are of, by the stacks of a few launches in each: what shows a loop, and what does
// not.
#include <string>
#include <string_view>
#include <vector>

#include "steps/step_events.h"
#include "steps/steps.h"
#include "support/catch.h"
#include "support/program_by_hand.h"

namespace synctrace::testing {
namespace {

constexpr std::string_view kModelFile = "/home/user/model.py";
constexpr std::string_view kTorch = "/venv/lib/python3.12/site-packages/torch/serving.py";

// The name of the loop of twenty steps, in each of which something is launched in these places, in this order.
std::string name_of(const std::vector<std::vector<Place>>& places) {
  Program program;
  for (int i = 0; i < 20; ++i) {
    for (std::size_t k = 0; k < places.size(); ++k) {
      program.kernel("seen" + std::to_string(k), program.at(places[k]));
      program.kernels("unseen", 3);
    }
    program.wait();
  }
  const Steps steps = program.steps().chosen;
  CHECK(steps.steps.size() == 20);
  return steps.name;
}

}  // namespace

TEST_CASE("a function that goes back to an earlier line is the loop, one that goes on is none") {
  CHECK(name_of({{{"main", 5}}, {{"main", 6}}}) == "main");
  Program program;
  for (int i = 0; i < 20; ++i) {
    program.kernel("seen", program.at({{"main", 5 + i}}));
    program.kernels("unseen", 6);
    program.wait();
  }
  const Steps steps = program.steps().chosen;
  CHECK(steps.steps.size() == 20);
  CHECK(steps.name.empty());
}

// Most steps show only a line behind the first one.
TEST_CASE("the line of a loop is the first at which a step is seen") {
  Program program;
  for (int i = 0; i < 20; ++i) {
    program.kernel("first", i % 10 == 3 ? program.at({{"main", 5}}) : StackId{});
    program.kernel("second", program.at({{"main", 7}}));
    program.kernel("third", program.at({{"main", 8}}));
    program.wait();
  }
  const Steps steps = program.steps().chosen;
  CHECK(steps.name == "main");
  CHECK(steps.where.line == 5);
}

// Each tenth step is followed by copies that no step has, as of a checkpoint.
TEST_CASE("what a loop does behind some of its steps belongs to them, and nothing else does") {
  const Place saves = GENERATE(Place{"main", 9}, Place{"other", 9});  // in the loop, or elsewhere
  const int steps = GENERATE(40, 20);                                 // three gaps between steps, or one
  CAPTURE(saves.function, steps);
  Program program;
  for (int i = 0; i < steps; ++i) {
    program.kernels("step", 12, program.at({{"main", 5}}));
    program.wait(program.at({{"main", 6}}));
    if (i % 10 != 9) continue;
    for (int copy = 0; copy < 30; ++copy) program.kernel("saved" + std::to_string(copy), program.at({saves}));
  }
  const Steps found = program.steps().chosen;
  REQUIRE(found.steps.size() == static_cast<std::size_t>(steps));
  const bool are_closed = saves.function == "main" && steps == 40;
  std::size_t gaps = 0;
  for (std::size_t i = 1; i < found.steps.size(); ++i)
    gaps += found.steps[i - 1].host.end_ns < found.steps[i].host.begin_ns ? 1U : 0U;
  CHECK(gaps == (are_closed ? 0U : static_cast<std::size_t>(steps) / 10 - 1));
}

TEST_CASE("a little loop that no stack shows is a part of what is done behind some steps, a longer one is not") {
  const Nanoseconds begins_ns = GENERATE(50'000'000, 0);  // what an epoch's begin takes
  CAPTURE(begins_ns);
  Program program;
  for (int i = 0; i < 40; ++i) {
    program.kernels("step", 12, program.at({{"main", 5}}));
    program.wait(program.at({{"main", 6}}));
    if (i % 10 != 9) continue;
    program.kernel("tried", program.at({{"main", 9}}));
    for (int layer = 0; layer < 6; ++layer) program.kernels("layer", 12);
    program.pass(begins_ns);
  }
  const StepPhases found = program.steps();
  CHECK(found.chosen.steps.size() == 40);
  CHECK(found.others.size() == (begins_ns > 0 ? 0U : 1U));
  const Step& last = found.chosen.steps[9];
  CHECK((last.host.end_ns == found.chosen.steps[10].host.begin_ns) == (begins_ns > 0));
}

TEST_CASE("what a loop does behind another phase belongs to its next step, and nothing else does") {
  const Place begins = GENERATE(Place{"main", 4}, Place{"other", 4});
  CAPTURE(begins.function);
  Program program;
  for (int epoch = 0; epoch < 5; ++epoch) {
    for (int copy = 0; copy < 30; ++copy) program.kernel("begun" + std::to_string(copy), program.at({begins}));
    program.pass(50'000'000);
    for (int i = 0; i < 10; ++i) {
      program.kernels("train", 90, program.at({{"main", 5}}));
      program.wait(program.at({{"main", 6}}));
    }
    for (int i = 0; i < 30; ++i) {
      program.kernel("embedding", program.at({{"main", 8}, {"evaluate", 30}, {"forward", 5}}));
      for (int layer = 0; layer < 3; ++layer) program.kernels("validates", 4);
      program.wait(program.at({{"main", 8}, {"evaluate", 31}}));
    }
  }
  const StepPhases found = program.steps();
  REQUIRE(found.chosen.steps.size() == 50);
  REQUIRE(found.others.size() == 1);
  CHECK(found.others[0].steps.size() == 150);
  const Step& first = found.chosen.steps[10];
  CHECK((first.host.begin_ns == found.others[0].steps[29].host.end_ns) == (begins.function == "main"));
}

TEST_CASE("ranges of the program's own lie between two passes, not in the one before them") {
  Program program;
  for (int epoch = 0; epoch < 5; ++epoch) {
    for (int i = 0; i < 10; ++i) {
      program.range("step", kMain, [&] {
        program.kernels("train", 12, program.at({{"main", 5}}));
        program.wait(program.at({{"main", 6}}));
      });
    }
    for (int i = 0; i < 10; ++i) {
      program.kernels("validate", 6, program.at({{"main", 8}}));
      program.wait(program.at({{"main", 9}}));
    }
  }
  const StepPhases found = program.steps();
  REQUIRE(found.chosen.source == StepSource::kNvtx);
  REQUIRE(found.others.size() == 1);
  std::size_t cursor = 0;
  for (const Step& step : found.chosen.steps)
    CHECK(found.others[0].kind_at(step.host.begin_ns + 1, cursor) == StepKind::kOutside);
}

// Only at the end of such a step does the outermost function go back.
TEST_CASE("the loop of large steps is found, though a framework's function loops inside of each") {
  std::vector<std::vector<Place>> places = {{{"main", 5}}};
  for (int part = 0; part < 3; ++part) {
    for (int leaf = 0; leaf < 200; ++leaf)
      places.push_back({{"main", 6}, {"update", 10 + part}, {"tree_map", 20 + leaf % 2, kTorch}});
  }
  CHECK(name_of(places) == "main");
}

TEST_CASE("one function behind another one of the same call is no loop") {
  CHECK(name_of({{{"main", 5}, {"first", 9}}, {{"main", 5}, {"second", 3}}}).empty());
}

TEST_CASE("a model's own loop is that of its caller, unless that is the model's too") {
  const auto from = [](const Place& caller) {
    return name_of({{caller, {"forward", 3, kModelFile}}, {caller, {"forward", 4, kModelFile}}});
  };
  CHECK(from({"main", 5}) == "main");
  CHECK(from({"generate", 5, kModelFile}).empty());
}

TEST_CASE("a framework's own loop is that of its caller, where there is one") {
  CHECK(name_of({{{"main", 5}, {"serve", 3, kTorch}}, {{"main", 5}, {"serve", 4, kTorch}}}) == "main");
  CHECK(name_of({{{"serve", 3, kTorch}}, {{"serve", 4, kTorch}}}).empty());
}

TEST_CASE("from CPython 3.12 on a line table tells that a function does not go back") {
  const std::uint32_t version = GENERATE(0x030b0800, 0x030c0000);
  CAPTURE(version);
  Program program;
  const StackId stack = program.at({{"main", 6}});
  Trace trace = program.trace();
  for (auto& [id, code] : trace.codes) code.python_version = version;
  StepEvents events(trace);
  const std::uint64_t last = events.spots(stack).front().position;
  CHECK(events.can_loop(stack, 0, last - 2, last) == (version < 0x030c0000));
}

}  // namespace synctrace::testing
