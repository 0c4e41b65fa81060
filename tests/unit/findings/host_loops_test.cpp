// SPDX-License-Identifier: Apache-2.0
// Loops that take one item after the other: which are told, and which need the last turn's result.
#include "findings/remedies/host_loops.h"

#include <string>
#include <tuple>
#include <vector>

#include "findings/remedies/cpu_work.h"
#include "support/catch.h"
#include "support/python_program.h"

namespace synctrace::testing::host_loops_test {
namespace {

constexpr const char* kTrain = "/home/user/train.py";
constexpr const char* kModule = "/site-packages/torch/nn/modules/module.py";
constexpr int kSteps = 10;

// Ten steps of main().
class Program : public PythonProgram {
 public:
  StackId line(const std::string& function, std::int32_t line, const std::string& source) {
    text(kTrain, static_cast<std::uint32_t>(line), source);
    return stack({{kTrain, function, line}, {kTrain, "main", 50}});
  }
  void read(StackId stack, int a_step, std::uint64_t bytes = 4) {
    for (int i = 0; i < a_step * kSteps; ++i) {
      Call& call = trace_.calls.emplace_back();
      call.stack = stack;
      call.category = ApiCategory::kCopyAsync;
      call.copy_kind = CopyKind::kDeviceToHost;
      call.bytes = bytes;
    }
  }
  void launch(StackId stack, int a_step) { PythonProgram::launch(stack, a_step * kSteps); }
  StackPlaces places() const { return {trace_, UserCode()}; }
  HostLoops loops(StackPlaces& places) const { return {trace_, places, loop()}; }
  CpuWork cpu_work(StackPlaces& places) const { return {trace_, places, loop()}; }

 private:
  static StepsReport loop() {
    StepsReport loop;
    loop.name = "main";
    loop.where = {kTrain, 50};
    loop.figures.count = kSteps;
    return loop;
  }
};

}  // namespace

TEST_CASE("a function that launches and reads for each item is a loop of its own lines") {
  Program program;
  const StackId read = program.line("find", 12, "return hits[0].item()");
  const StackId launch = program.line("find", 10, "hits = (table == value).nonzero()");
  const StackId other = program.line("main", 50, "loss.backward()");
  program.read(read, 20);
  program.launch(launch, 20);
  program.launch(other, 100);
  StackPlaces places = program.places();
  const HostLoops loops = program.loops(places);
  const HostLoop* loop = loops.of(places.place_of(read));
  REQUIRE(loop != nullptr);
  CHECK(loop->turns == 20);
  CHECK(loop->computes);
  CHECK(loop->first_line == 10);
  CHECK(loop->last_line == 12);
  CHECK(loops.of(places.place_of(launch)) == loop);
  CHECK(loops.of(places.place_of(other)) == nullptr);
}

TEST_CASE("reads alone are one copy where there are sixteen, and what is launched elsewhere stays") {
  Program program;
  const StackId read = program.line("pick", 20, "score = scores[i].item()");
  program.read(read, 16);
  const StackId few = program.line("log", 30, "values = [v.item() for v in losses]");
  program.read(few, 15);
  StackPlaces places = program.places();
  const HostLoops loops = program.loops(places);
  REQUIRE(loops.of(places.place_of(read)) != nullptr);
  CHECK_FALSE(loops.of(places.place_of(read))->computes);
  CHECK(loops.of(places.place_of(few)) == nullptr);
}

TEST_CASE("seven turns are no loop, nor those that run a model or end by what they read") {
  Program program;
  const StackId seldom = program.line("seldom", 10, "x = y.item()");
  program.read(seldom, 7);
  program.launch(seldom, 7);
  const StackId test = program.line("solve", 20, "if residual.item() < tol:");
  program.read(test, 40);
  program.launch(test, 40);
  const StackId ends = program.line("wait_for", 25, "while bool(todo.any()):");
  program.read(ends, 40);
  program.launch(ends, 40);
  const StackId token = program.line("generate", 31, "word = logits.argmax().item()");
  program.read(token, 40);
  program.launch(program.stack({{kModule, "Module._call_impl", 1}, {kTrain, "generate", 30}, {kTrain, "main", 50}}),
                 40);
  StackPlaces places = program.places();
  const HostLoops loops = program.loops(places);
  for (const StackId stack : {seldom, test, ends, token}) CHECK(loops.of(places.place_of(stack)) == nullptr);
}

TEST_CASE("a line of which most is another function's is not the loop's") {
  Program program;
  const StackId read = program.line("find", 12, "return hits[0].item()");
  const StackId shared = program.stack({{kTrain, "norm", 5}, {kTrain, "find", 11}, {kTrain, "main", 50}});
  const StackId elsewhere = program.stack({{kTrain, "norm", 5}, {kTrain, "main", 51}});
  program.read(read, 20);
  program.launch(shared, 20);
  program.launch(elsewhere, 20);
  StackPlaces places = program.places();
  const HostLoops loops = program.loops(places);
  CHECK(loops.of(places.place_of(read)) != nullptr);
  CHECK(loops.of(places.place_of(shared)) == nullptr);
}

TEST_CASE("a function that copies data in the steps computes with it, unless it keeps the data") {
  Program program;
  const StackId search = program.line("Index.search", 10, "hidden = hidden.cpu().numpy()");
  program.read(search, 1, 1 << 20);
  const StackId save = program.line("save_state", 20, "torch.save(model.state_dict(), path)");
  program.read(save, 1, 1 << 20);
  const StackId number = program.line("read", 30, "value = loss.item()");
  program.read(number, 1, 4);
  const StackId loop = program.line("main", 52, "x = y.cpu()");
  program.read(loop, 1, 1 << 20);
  StackPlaces places = program.places();
  const CpuWork work = program.cpu_work(places);
  CHECK(work.copied_at(places.line_of(search)) == 10);
  for (const StackId stack : {save, number, loop}) CHECK(work.copied_at(places.line_of(stack)) == 0);
}

}  // namespace synctrace::testing::host_loops_test
