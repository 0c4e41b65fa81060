// SPDX-License-Identifier: Apache-2.0
// What a framework does for a program, in its own loops, on its own threads and before the program's loop, is no step.
#include <string>

#include "base/format_text.h"
#include "steps/steps.h"
#include "support/catch.h"
#include "support/golden_traces.h"
#include "support/program_by_hand.h"

namespace synctrace::testing {

// A model whose parameters are spread over the ranks gathers those of a layer with one kernel for many tensors. On
// autograd's thread it gives the GPU their addresses.
TEST_CASE("the layers of a model are no steps, whatever gathers their parameters") {
  Program program;
  const StackId layers = program.at({{"main", 7}, {"forward", 3, "/venv/torch/nn/modules/container.py"}});
  const StackId back = program.at({{"_pre_backward", 9, "/venv/torch/distributed/fsdp/_fsdp_state.py"}});
  for (int i = 0; i < 20; ++i) {
    for (int layer = 0; layer < 8; ++layer) {
      program.kernel("multi_tensor_apply_kernel Copy", layers);
      program.kernels("forward", 6, layers);
    }
    for (int layer = 0; layer < 8; ++layer) {
      program.kernel("multi_tensor_apply_kernel Copy", back, kWorker);
      program.wait(back, kWorker);
      program.kernels("backward", 6, {}, kWorker);
    }
    const StackId optimizer = program.at({{"main", 8}, {"step", 2, "/venv/torch/optim/sgd.py"}});
    program.kernel("multi_tensor_apply_kernel Add", optimizer);
    program.wait(program.at({{"main", 9}}));
  }
  const Steps steps = program.steps().chosen;
  CHECK(steps.steps.size() == 20);
  CHECK(steps.micro_steps == 1);
  CHECK(steps.where.line == 7);
}

// A stage of a pipeline whose loss nobody reads runs micro-batches forward, then backward. Only the optimizer runs
// once, and each of its kernels comes twice.
TEST_CASE("an optimizer marks a step by the begin of its work alone") {
  Program program;
  for (int i = 0; i < 20; ++i) {
    for (int part = 0; part < 4; ++part) program.kernels("forward", 20, program.at({{"step", 5}}));
    for (int part = 0; part < 4; ++part) program.kernels("backward", 30, program.at({{"step", 7}}));
    const StackId optimizer = program.at({{"step", 9}, {"update", 2, "/venv/torch/optim/sgd.py"}});
    for (int part = 0; part < 2; ++part) program.kernels("multi_tensor_apply", 2, optimizer);
  }
  const Steps steps = program.steps().chosen;
  CHECK(steps.steps.size() >= 19);
  CHECK(steps.steps.size() <= 20);
  CHECK(steps.confidence == StepConfidence::kHigh);
}

TEST_CASE("the thread on which autograd calls back does not hide the loop") {
  Program program;
  const StackId hook = program.at({{"_hook", 9, "/venv/torch/distributed/_composable/replicate.py"}});
  for (int i = 0; i < 20; ++i) {
    program.kernels("forward", 3, program.at({{"main", 7}}));
    program.kernels("backward", 12, hook, kWorker);
    program.wait(program.at({{"main", 9}}));
  }
  const Steps steps = program.steps().chosen;
  CHECK(steps.steps.size() == 20);
  CHECK(steps.name == "main");
  CHECK(steps.where.line == 7);
}

// jax.tree.map starts operations for each array of the parameters, and JAX's thread uploads the numbers in them.
TEST_CASE("the arrays of a tree are no steps, although JAX gives the GPU a number for each") {
  Program program;
  const StackId native = program.native();
  const StackId update = program.at({{"main", 8}, {"update", 5}, {"tree_map", 9, "/venv/jax/_src/tree_util.py"}});
  for (int i = 0; i < 20; ++i) {
    program.kernels("gradient", 12, program.at({{"main", 7}}));
    for (const std::string_view last : {"add", "subtract"}) {
      for (int array = 0; array < 100; ++array) {
        program.upload(4, native, kWorker);
        program.kernel("multiply", array % 14 == 0 ? update : StackId{});
        program.kernel(last, array % 14 == 0 ? update : StackId{});
      }
    }
  }
  const Steps steps = program.steps().chosen;
  CHECK(steps.steps.size() >= 18);
  CHECK(steps.steps.size() <= 20);
}

// JAX compiles a step for each shape, and makes a graph of each.
TEST_CASE("steps of which each launches a graph of its own are steps") {
  Program program;
  for (std::uint32_t i = 0; i < 30; ++i) {
    program.upload(900'000 + i, program.native(), kWorker);
    program.upload(4'096, program.native(), kWorker);
    program.graph(10 + i, program.at({{"main", 9}}));
  }
  const Steps steps = program.steps().chosen;
  CHECK(steps.steps.size() >= 28);
  CHECK(steps.steps.size() <= 30);
}

// A value that is static for the compiler changes now and then: then it makes another graph of the same step.
TEST_CASE("a graph that takes another's place launches the same step") {
  Program program;
  const StackId step = program.at({{"main", 9}});
  for (std::uint32_t part = 0; part < 5; ++part) {
    for (int i = 0; i < 20; ++i) program.graph(10 + part, step);
  }
  CHECK(program.steps().chosen.steps.size() >= 99);
}

TEST_CASE("graphs that take turns are parts of one step") {
  Program program;
  const StackId step = program.at({{"main", 9}});
  for (std::uint32_t i = 0; i < 30; ++i) {
    for (std::uint32_t part = 0; part < 3; ++part) program.graph(10 + part, step);
  }
  const Steps steps = program.steps().chosen;
  CHECK(steps.steps.size() >= 29);
  CHECK(steps.steps.size() <= 30);
}

TEST_CASE("what sets up a program is not what it is about, as long as it may take") {
  const bool comes_first = GENERATE(true, false);
  const int layer_kernels = GENERATE(4, 8, 40);  // 4 % of the training's work, 8 %, or as much
  CAPTURE(comes_first, layer_kernels);
  Program program;
  const auto set_up = [&] {
    for (int i = 0; i < 12; ++i) {
      program.kernels("init", layer_kernels, program.at({{"build", 5}}));
      program.wait(program.at({{"build", 6}}));
      program.pass(20'000 * kUs);
    }
  };
  if (comes_first) set_up();
  for (int i = 0; i < 60; ++i) {
    program.kernels("step", 20, program.at({{"main", 7}}));
    program.wait(program.at({{"main", 8}}));
  }
  if (!comes_first) set_up();
  const Steps steps = program.steps().chosen;
  const bool is_training = comes_first && layer_kernels == 4;
  CHECK(steps.name == (is_training ? "main" : "build"));
  CHECK(steps.steps.size() >= (is_training ? 60 : 11));
}

// One rank built its layers for longer than it trained, of the other job both were seen to gather layers again and
// again.
TEST_CASE("all ranks of recorded jobs have the steps of their training loop") {
  const std::string name =
      std::string(GENERATE("ddp", "fsdp")) + std::string(GENERATE("_rank0", "_rank1")) + ".synctrace";
  INFO(name);
  const Trace trace = load_golden({format_text("{}/steps/{}", SYNCTRACE_GOLDEN_FOLDER, name), name});
  const Correlation correlation(trace);
  const StepPhases found = find_steps(trace, correlation);
  const Steps& steps = found.chosen;
  CHECK(steps.steps.size() >= 58);
  CHECK(steps.steps.size() <= 62);
  CHECK(steps.micro_steps == 1);
  CHECK(steps.confidence == StepConfidence::kHigh);
  CHECK(steps.name == "train");
  CHECK(steps.where.line >= 196);
  CHECK(steps.where.line <= 211);
  REQUIRE_FALSE(found.others.empty());
  if (name.starts_with("ddp")) CHECK(found.others.front().where.line == 65);  // builds one layer after another
}

}  // namespace synctrace::testing
