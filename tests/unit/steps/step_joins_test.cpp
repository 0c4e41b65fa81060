// SPDX-License-Identifier: Apache-2.0
// One loop that is found as two, with the last of its steps where the one goes over into the other.
#include <algorithm>
#include <string>

#include "steps/steps.h"
#include "support/catch.h"
#include "support/program_by_hand.h"

namespace synctrace::testing {
namespace {

struct Shape {
  int begins = 0;  // kernels
  int layers = 0;
  int ends = 0;
  int longer_from = 0;  // token; of the step before, other kernels run in the last layer
  bool reads = false;
  int tokens[4] = {};  // in each text
};

std::size_t true_steps(const Shape& shape) {
  std::size_t sum = 0;
  for (const int tokens : shape.tokens) sum += static_cast<std::size_t>(tokens);
  return sum;
}

void play(const Shape& shape, Program& program, auto&& before) {
  const StackId begin = program.at({{"main", 11}, {"generate", 30}, {"next_token", 5}});
  const StackId head = program.at({{"main", 11}, {"generate", 30}, {"next_token", 6}});
  const StackId outside = program.at({{"main", 11}, {"generate", 31}});
  for (const int tokens : shape.tokens) {
    before();
    if (tokens > 0) program.wait(program.at({{"main", 10}}));
    for (int token = 0; token < tokens; ++token) {
      for (int k = 0; k < shape.begins; ++k) program.kernel("begin" + std::to_string(k), k == 0 ? begin : StackId{});
      for (int layer = 0; layer < shape.layers; ++layer) {
        program.kernel("layer");
        const bool is_longer =
            token >= shape.longer_from || (token + 1 == shape.longer_from && layer + 1 == shape.layers);
        for (int k = 0; k < 2; ++k) program.kernel(is_longer ? "other_gemm" : "gemm");
      }
      program.kernel("head", head);
      program.kernels("end", shape.ends, outside);
      if (shape.reads) program.wait(outside);
    }
    if (tokens > 0) program.wait(program.at({{"main", 12}}));
  }
}

}  // namespace

TEST_CASE("the steps of a loop that was found as two are all there, each once") {
  const Shape all[] = {{2, 3, 2, 29, false, {69, 48, 66, 55}}, {0, 2, 3, 20, true, {54, 42, 39, 0}}};
  for (const Shape& shape : all) {
    CAPTURE(shape.begins);
    Program program;
    play(shape, program, [] {});
    const StepPhases found = program.steps();
    CHECK(found.chosen.steps.size() == true_steps(shape));
    CHECK(found.others.empty());
  }
}

// A step of it runs all that makes a token, and marks the begin of its backward pass with the same kernel.
TEST_CASE("a loop that was found as two takes no steps of another one, which begin alike") {
  const Shape shape = {2, 3, 2, 40, false, {69, 48, 66, 55}};
  Program program;
  play(shape, program, [&] {
    for (int i = 0; i < 30; ++i) {
      program.wait(program.at({{"main", 5}}));
      program.kernels("begin", shape.begins);
      for (int layer = 0; layer < shape.layers; ++layer) {
        program.kernel("layer");
        for (int k = 0; k < 2; ++k) program.kernel("gemm");
      }
      program.kernel("head");
      program.kernels("end", shape.ends);
      program.kernel("begin0");
      program.kernels("backward", 10, program.at({{"main", 6}}));
      program.kernels("adam", 2);
    }
  });
  const StepPhases found = program.steps();
  REQUIRE(found.others.size() == 1);
  CHECK(found.chosen.steps.size() + found.others.front().steps.size() == 120 + true_steps(shape));
  CHECK(std::min(found.chosen.steps.size(), found.others.front().steps.size()) == 120);
}

}  // namespace synctrace::testing
