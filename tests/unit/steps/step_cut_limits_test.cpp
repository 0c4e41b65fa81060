// SPDX-License-Identifier: Apache-2.0
// Each limit by which the finder cuts the issued work into steps, from both sides: a program a side, which only that
// limit decides. The limits that choose a level: step_search_, step_nesting_ and step_micro_limits_test.cpp.
#include <string>
#include <string_view>

#include "steps/step_events.h"
#include "steps/step_items.h"
#include "steps/steps.h"
#include "support/catch.h"
#include "support/program_by_hand.h"

namespace synctrace::testing::step_cut_limits_test {
namespace {

// Adds work that comes once in the program.
void once(Program& program, int count) {
  static int next = 0;
  for (int i = 0; i < count; ++i) program.kernel("once" + std::to_string(next++));
}

std::size_t optimizer_steps(Program& program) {
  const Correlation correlation(program.trace());
  const StepItems items = step_items(program.trace(), correlation, {});
  return items.count({0, items.size()}, StepItems::kOptimizer);
}

}  // namespace

TEST_CASE(
    "an optimizer's work by name is of one step with less than four kernels between, by stacks with less than twelve") {
  struct Known {
    bool by_name = false;
    int between = 0;
    std::size_t steps = 0;
  };
  const Known all[] = {{true, 3, 1}, {true, 4, 2}, {false, 11, 1}, {false, 12, 2}};
  for (const Known& known : all) {
    CAPTURE(known.by_name, known.between);
    Program program;
    const StackId optimizer =
        known.by_name ? StackId{} : program.at({{"main", 5}, {"step", 9, "/venv/torch/optim/adamw.py"}});
    const std::string name = known.by_name ? "adam" : "addcdiv";
    program.kernel(name, optimizer);
    program.kernels("elementwise", known.between);
    program.kernel(name, optimizer);
    CHECK(optimizer_steps(program) == known.steps);
  }
}

TEST_CASE("an optimizer's kernels are told by their names, and its code by its folder") {
  for (const std::string_view name : {"FusedAdam<float>", "sgd_kernel", "adagrad", "adadelta", "rmsprop", "adafactor",
                                      "optimizer_kernel", "multi_tensor_apply_kernel", "fused_gemm"}) {
    INFO(std::string(name));
    Program program;
    program.kernel(name);
    CHECK(optimizer_steps(program) == (name == "fused_gemm" ? 0 : 1));
  }
  for (const std::string_view file : {"torch/optim/sgd.py", "keras/optimizers/sgd.py",
                                      "site-packages/optax/_src/base.py", "paddle/optimizer/adam.py"}) {
    INFO(std::string(file));
    CHECK(is_optimizer_code(std::string("/venv/") + std::string(file)));
  }
  CHECK_FALSE(is_optimizer_code("/home/user/optim.py"));
}

// Each fifth step of eleven items ends with reads.
TEST_CASE("eight items at the most are a log line that belongs to a small step") {
  const int reads = GENERATE(7, 12);
  CAPTURE(reads);
  Program program;
  for (int i = 0; i < 30; ++i) {
    program.kernels("step", 10);
    program.wait();
    for (int k = 0; k < reads && i % 5 == 4; ++k) program.read();
  }
  const Steps steps = program.steps().chosen;
  REQUIRE(steps.steps.size() == 30);
  CHECK((steps.steps[4].host.end_ns == steps.steps[5].host.begin_ns) == (reads == 7));
}

// A step is two or three short passes and a longer one, which runs their kernels too and others between them. With two
// short passes, a third of the pieces is like the next one, and the whole is the step. With three, half of them are,
// and each short pass is a step.
TEST_CASE("pieces of which few are like the next are no steps") {
  const int passes = GENERATE(2, 3);
  CAPTURE(passes);
  Program program;
  for (int i = 0; i < 7; ++i) {
    for (int pass = 0; pass < passes; ++pass) {
      program.kernels("both", 8);
      program.wait();
    }
    for (int k = 0; k < 8; ++k) {
      program.kernel("both" + std::to_string(k));
      program.kernels("other" + std::to_string(k) + "_", 3);
    }
    program.wait();
  }
  const Steps steps = program.steps().chosen;
  CHECK(steps.steps.size() == (passes == 2 ? 7 : 21));
}

TEST_CASE("a loop of a fifth of the work is steps, a smaller one is none") {
  const int others = GENERATE(200, 480);  // 30 % and 15 %
  CAPTURE(others);
  Program program;
  once(program, others / 2);
  for (int i = 0; i < 12; ++i) {
    program.kernels("step", 6);
    program.wait();
  }
  once(program, others / 2);
  CHECK(program.steps().chosen.steps.size() == (others == 200 ? 12 : 0));
}

// One step in twelve goes another way: it has some of the other steps' fifteen items.
TEST_CASE("an odd piece between two steps is one if it has three tenths in common with them") {
  const int common = GENERATE(1, 4);
  CAPTURE(common);
  Program program;
  for (int i = 0; i < 60; ++i) {
    const bool is_odd = i % 12 == 6;
    program.kernel("begin");
    program.kernels("step", is_odd ? common : 13);
    if (is_odd) program.kernels("odd", 13 - common);
    program.wait();
  }
  CHECK(program.steps().chosen.steps.size() == (common == 4 ? 60 : 55));
}

// One step in twelve is followed by some of a step's nineteen kernels, without the kernel that begins a step.
TEST_CASE("what is behind a step is one more, with records missing, if it has three fifths in common with it") {
  const int common = GENERATE(9, 13);
  CAPTURE(common);
  Program program;
  const auto work = [&](int count) {
    for (int k = 0; k < count; ++k) program.kernel("work" + std::to_string(k / 6));
  };
  for (int i = 0; i < 60; ++i) {
    program.kernel("begin");
    work(19);
    if (i % 12 != 6) continue;
    work(common);
    program.kernels("rest" + std::to_string(i) + "_", 19 - common);
  }
  CHECK(program.steps().chosen.steps.size() == (common == 13 ? 65 : 60));
}

// The kernel that ends a step also runs before the loop, with others behind it. Each step has one kernel of its own.
TEST_CASE("of two begins with as many steps that counts with which more steps are alike but for a fiftieth") {
  Program program;
  program.kernel("end");
  program.kernels("before", 5);
  Nanoseconds begin_ns = 0;
  for (int i = 0; i < 20; ++i) {
    if (i == 0) begin_ns = program.now_ns();
    program.kernels("step", 48);
    program.kernel("own" + std::to_string(i));
    program.kernel("end");
  }
  const Steps steps = program.steps().chosen;
  CHECK(steps.steps.size() == 20);
  CHECK(steps.steps.front().host.begin_ns == begin_ns);
}

// A text grows, and from some length on other kernels do a part of the work. No kernel comes once in a step right at
// its begin, and each text begins with kernels that no step has.
TEST_CASE("steps of the rarer sort do not keep the begin of all from where it is") {
  Program program;
  for (int text = 0; text < 3; ++text) {
    program.kernels("prompt" + std::to_string(text) + "_", 60);
    for (int token = 0; token < 40; ++token) {
      for (int k = 0; k < 16; ++k) program.kernel("layer");
      program.kernel("head");
      for (int k = 0; k < 24; ++k) program.kernel("norm");
      for (int k = 0; k < 8; ++k) program.kernel(token < 32 ? "gemm" : token < 36 ? "longer" : "longest");
      program.kernel("own" + std::to_string(text) + '_' + std::to_string(token));
    }
  }
  CHECK(program.steps().chosen.steps.size() == 120);
}

// Scaled gradients overflow now and then, and the optimizer does not run.
TEST_CASE("a small loop is steps where four in five hold an optimizer's work") {
  const int skips = GENERATE(3, 8);  // in twenty steps
  CAPTURE(skips);
  Program program;
  once(program, 400);
  for (int i = 0; i < 20; ++i) {
    program.kernels("step", 6);
    if ((i + 1) * skips % 20 >= skips) program.kernel("adam");
    program.wait();
  }
  once(program, 400);
  CHECK((program.steps().chosen.steps.size() >= 19) == (skips == 3));
}

TEST_CASE("batches of which each second one ends with the optimizer's work do not hide its steps") {
  Program program;
  for (int i = 0; i < 20; ++i) {
    for (int batch = 0; batch < 2; ++batch) program.kernels("batch", 20);
    for (int part = 0; part < 2; ++part) program.kernels("adam", 2);
  }
  const Steps steps = program.steps().chosen;
  CHECK(steps.steps.size() >= 19);
  CHECK(steps.steps.size() <= 20);
  CHECK(steps.micro_steps == 2);
}

}  // namespace synctrace::testing::step_cut_limits_test
