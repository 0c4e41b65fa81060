// SPDX-License-Identifier: Apache-2.0
// What could become one graph: the outermost function or module inside of the loop in which the host does not wait.
#include "findings/remedies/launch_targets.h"

#include <string>
#include <tuple>
#include <vector>

#include "findings/calls/stack_places.h"
#include "findings/remedies/frameworks.h"

#include "support/catch.h"
#include "support/python_program.h"

namespace synctrace::testing::launch_targets_test {
namespace {

constexpr const char* kTrain = "/home/user/train.py";
constexpr const char* kModule = "/site-packages/torch/nn/modules/module.py";

// A trace of ten steps of main(), whose stacks are lists of places, innermost first.
class Program : public PythonProgram {
 public:
  void wait(StackId stack, int times = 10) {
    for (int i = 0; i < times; ++i) {
      Call& call = trace_.calls.emplace_back();
      call.stack = stack;
      call.category = ApiCategory::kStreamSync;
    }
  }
  void sleep(StackId stack) {
    for (int i = 0; i < 10; ++i) {
      HostWait& wait = trace_.host_waits.emplace_back();
      wait.stack = stack;
      wait.span = {0, 100'000};
    }
  }
  LaunchTargets targets() const {
    StepsReport loop;
    loop.source = "python-loop";
    loop.name = "main";
    loop.where = {kTrain, 10};
    loop.figures.count = 10;
    return {trace_, loop, user_code_};
  }
  SourceLine line(StackId stack) const { return StackPlaces(trace_, UserCode()).line_of(stack); }

 private:
  UserCode user_code_;
};

}  // namespace

TEST_CASE("a module that is called in the loop is compiled by the name of its variable") {
  Program program;
  program.text(kTrain, 11, "loss = criterion(net(x), y)");
  const StackId launch = program.stack({{kTrain, "Net.forward", 5},
                                        {kModule, "Module._call_impl", 1},
                                        {kModule, "Module._wrapped_call_impl", 2},
                                        {kTrain, "main", 11}});
  program.launch(launch);
  const LaunchTargets targets = program.targets();
  const LaunchTarget found = targets.of(program.line(launch));
  CHECK(found.kind == LaunchTarget::Kind::kModule);
  CHECK(found.name == "net");
  CHECK(found.class_name == "Net");
  REQUIRE(targets.modules().size() == 1);
  CHECK(targets.modules().front().class_name == "Net");
}

TEST_CASE("a class of PyTorch's own is compiled by its variable, and the loss beside it counts for nothing") {
  Program program;
  program.text(kTrain, 11, "loss = loss_of(model(x), y)");
  const auto launch = [&](const char* file, const char* forward) {
    program.launch(program.stack({{file, forward, 5}, {kModule, "Module._call_impl", 1}, {kTrain, "main", 11}}));
  };
  launch("/site-packages/torch/nn/modules/container.py", "Sequential.forward");
  launch("/site-packages/torch/nn/modules/loss.py", "CrossEntropyLoss.forward");
  const LaunchTargets targets = program.targets();
  REQUIRE(targets.modules().size() == 1);
  CHECK(targets.modules().front().name == "model");
  CHECK(targets.modules().front().class_name.empty());
}

// Lightning hands the training step to the optimizer as a closure.
TEST_CASE("a module that optimizer.step(closure) calls is compiled, and the step that logs is not") {
  constexpr const char* kOptimizer = "/site-packages/torch/optim/adam.py";
  Program program;
  program.text(kTrain, 31, "logits = self.net(features)");
  const StackId launch = program.stack({{"/site-packages/torch/nn/modules/container.py", "Sequential.forward", 5},
                                        {kModule, "Module._call_impl", 1},
                                        {kTrain, "Classifier.training_step", 31},
                                        {"/site-packages/lightning/closure.py", "Closure.__call__", 3},
                                        {kOptimizer, "Adam.step", 4},
                                        {kTrain, "main", 11}});
  program.launch(launch);
  program.launch(program.stack({{kOptimizer, "_fused_adam", 9}, {kOptimizer, "Adam.step", 5}, {kTrain, "main", 11}}));
  REQUIRE(program.targets().modules().size() == 1);
  CHECK(program.targets().modules().front().name == "self.net");
  CHECK(!is_of_optimizer(program.line(launch).stack));
}

TEST_CASE("what waits inside is no graph, but what it calls may be one") {
  Program program;
  const StackId inner = program.stack({{kTrain, "block", 3}, {kTrain, "step", 7}, {kTrain, "main", 11}});
  const StackId outer = program.stack({{kTrain, "step", 6}, {kTrain, "main", 11}});
  program.launch(inner);
  program.launch(outer);
  CHECK(program.targets().of(program.line(inner)).name == "step");
  CHECK(program.targets().of(program.line(outer)).name == "step");

  program.wait(program.stack({{kTrain, "step", 8}, {kTrain, "main", 11}}));
  CHECK(program.targets().of(program.line(inner)).name == "block");
  CHECK(program.targets().of(program.line(outer)).kind == LaunchTarget::Kind::kNone);
  CHECK(program.targets().obstacle(program.line(outer)).line == 8);
  CHECK(!program.targets().can_be_compiled(program.line(outer)));
  CHECK(program.targets().can_be_compiled(program.line(inner)));
}

TEST_CASE("a module inside of one that waits is compiled by its own forward") {
  Program program;
  const std::vector<std::tuple<std::string, std::string, std::int32_t>> outer = {
      {kTrain, "Net.forward", 4}, {kModule, "Module._call_impl", 1}, {kTrain, "main", 11}};
  std::vector<std::tuple<std::string, std::string, std::int32_t>> inner = {
      {kTrain, "Block.forward", 7}, {kModule, "Module._call_impl", 1}, {kModule, "Module._wrapped_call_impl", 2}};
  inner.insert(inner.end(), outer.begin(), outer.end());
  const StackId launch = program.stack(inner);
  program.launch(launch);
  CHECK(program.targets().of(program.line(launch)).class_name == "Net");
  program.wait(program.stack(outer));
  CHECK(program.targets().of(program.line(launch)).kind == LaunchTarget::Kind::kFunction);
  CHECK(program.targets().of(program.line(launch)).name == "Block.forward");
  CHECK(program.targets().modules().empty());
}

TEST_CASE("a wait in hardly any step breaks no graph") {
  Program program;
  const StackId launch = program.stack({{kTrain, "step", 6}, {kTrain, "main", 11}});
  program.launch(launch);
  program.wait(program.stack({{kTrain, "step", 8}, {kTrain, "main", 11}}), 0);
  CHECK(program.targets().of(program.line(launch)).kind == LaunchTarget::Kind::kFunction);
}

TEST_CASE("lines of the loop itself are told apart by the waits between them") {
  Program program;
  const StackId before = program.stack({{kTrain, "main", 11}});
  const StackId after = program.stack({{kTrain, "main", 14}});
  const StackId reads = program.stack({{kTrain, "main", 12}});
  for (const StackId each : {before, after, reads}) program.launch(each);
  program.wait(reads);
  const LaunchTargets targets = program.targets();
  CHECK(targets.of(program.line(before)).kind == LaunchTarget::Kind::kLines);
  CHECK(targets.of(program.line(before)).piece != targets.of(program.line(after)).piece);
  CHECK(targets.of(program.line(reads)).kind == LaunchTarget::Kind::kNone);
}

TEST_CASE("backward and optimizers end what can be compiled as a whole") {
  Program program;
  const StackId forward = program.stack({{kTrain, "loss_of", 3}, {kTrain, "step", 6}, {kTrain, "main", 11}});
  program.launch(forward);
  program.launch(program.stack({{"/site-packages/torch/autograd/graph.py", "_engine_run_backward", 1},
                                {kTrain, "step", 7},
                                {kTrain, "main", 11}}));
  CHECK(program.targets().of(program.line(forward)).name == "loss_of");
}

TEST_CASE("nobody compiles a function of a library, and a module that was given to one is the user's") {
  Program program;
  const std::string trainer = "/site-packages/transformers/trainer.py";
  const StackId launch = program.stack({{"/site-packages/transformers/bert.py", "Bert.forward", 5},
                                        {kModule, "Module._call_impl", 1},
                                        {trainer, "Trainer.compute_loss", 20},
                                        {kTrain, "main", 11}});
  const StackId update =
      program.stack({{"/site-packages/torchmetrics/metric.py", "Metric.update", 5}, {kTrain, "main", 12}});
  program.launch(launch);
  program.launch(update);
  const LaunchTarget found = program.targets().of(program.line(launch));
  CHECK(found.kind == LaunchTarget::Kind::kModule);
  CHECK(found.is_librarys);
  CHECK(found.name.empty());
  CHECK(found.class_name == "Bert");
  CHECK(program.targets().of(program.line(update)).kind == LaunchTarget::Kind::kLines);
}

TEST_CASE("a module that runs once, and recurrent networks, are no graph of the steps") {
  Program program;
  program.text(kTrain, 11, "y = model(x)");
  program.launch(program.stack({{"/site-packages/torch/nn/modules/rnn.py", "GRU.forward", 5},
                                {kModule, "Module._call_impl", 1},
                                {kTrain, "main", 11}}));
  CHECK(program.targets().modules().empty());
}

TEST_CASE("what JAX calls for each array of a tree is compiled by the function that maps over it") {
  Program program;
  const StackId launch = program.stack({{"/site-packages/jax/_src/numpy/ufunc_api.py", "ufunc.__call__", 1},
                                        {kTrain, "main.<locals>.<lambda>", 11},
                                        {"/site-packages/jax/_src/tree_util.py", "tree_map", 2},
                                        {kTrain, "main", 11},
                                        {kTrain, "run", 20}});
  program.launch(launch);
  program.sleep(launch);  // it hands the operation to another thread
  CHECK(program.targets().of(program.line(launch)).name == "main");
  program.sleep(program.stack({{"/site-packages/jax/_src/array.py", "ArrayImpl._value", 1}, {kTrain, "main", 12}}));
  CHECK(program.targets().of(program.line(launch)).name != "main");

  Program outer;  // the loop calls the function that maps
  const StackId update = outer.stack({{kTrain, "update.<locals>.<lambda>", 5},
                                      {"/site-packages/jax/_src/tree_util.py", "tree_map", 2},
                                      {kTrain, "update", 5},
                                      {kTrain, "main", 11}});
  outer.launch(update);
  CHECK(outer.targets().of(outer.line(update)).name == "update");
}

TEST_CASE("the variable that is called is found where only one could be") {
  CHECK(called_variable("loss = criterion(model(x), y)") == "model");
  CHECK(called_variable("out = self.net(x)") == "self.net");
  CHECK(called_variable("nn.functional.cross_entropy(model(inputs), targets).backward()") == "model");
  CHECK(called_variable("fake = G(z); d = D(fake)").empty());
  CHECK(called_variable("y = f(g(x))").empty());
  CHECK(called_variable("x = 3").empty());
}

}  // namespace synctrace::testing::launch_targets_test
