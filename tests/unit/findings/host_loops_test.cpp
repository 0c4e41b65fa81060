// SPDX-License-Identifier: Apache-2.0
// Loops that take one item after the other: which are told, and which need the last turn's result.
#include "findings/remedies/host_loops.h"

#include <string>
#include <tuple>
#include <vector>

#include "attribution/stack_traits.h"
#include "attribution/usual_launches.h"
#include "findings/remedies/cpu_work.h"
#include "findings/remedies/host_data.h"
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
  void launch_kernels(StackId stack, int a_step) {
    for (int i = 0; i < a_step * kSteps; ++i) {
      const CorrelationId id{static_cast<std::uint32_t>(trace_.launches.size() + 1)};
      trace_.launches.emplace_back().stack = stack;
      trace_.launches.back().correlation = id;
      Operation& kernel = trace_.operations.emplace_back();
      kernel.kind = OperationKind::kKernel;
      kernel.correlation = id;
      kernel.name = StringId{1};
    }
  }
  void copy_to_gpu(StackId stack, int times) {
    for (int i = 0; i < times; ++i) {
      Call& call = trace_.calls.emplace_back();
      call.stack = stack;
      call.category = ApiCategory::kCopyAsync;
      call.copy_kind = CopyKind::kHostToDevice;
      call.span = {1'000 * i, 1'000 * i + 100};
    }
  }
  void sample(StackId stack, std::uint32_t count) {
    Sample& sample = trace_.samples.emplace_back();
    sample.stack = stack;
    sample.count = count;
    sample.span = {100'000'000 * static_cast<Nanoseconds>(trace_.samples.size()), {}};
    sample.span.end_ns = sample.span.begin_ns;
  }
  void launch(StackId stack, int a_step) { PythonProgram::launch(stack, a_step * kSteps); }
  StackPlaces places() const { return {trace_, UserCode()}; }
  HostLoops loops(StackPlaces& places) const { return {trace_, done(places), places, loop()}; }
  HostData data(StackPlaces& places) const { return {done(places), cpu_work(places), places, loop()}; }
  CpuWork cpu_work(StackPlaces& places) const { return {trace_, done(places), places, loop()}; }

 private:
  DoneInRun done(StackPlaces& places) const {
    const Correlation correlation(trace_);
    const StackReader stacks(trace_);
    return done_in_run(trace_, correlation, UsualLaunches(trace_, correlation, stacks), places);
  }
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
  const StackId read = program.line("find", 12, "found.append(hits[0].item())");
  const StackId launch = program.line("find", 10, "hits = (table == value).nonzero()");
  const StackId other = program.line("main", 50, "loss.backward()");
  program.read(read, 20);
  program.launch(launch, 20);
  program.launch(other, 100);
  StackPlaces places = program.places();
  const HostLoops loops = program.loops(places);
  const HostLoop* loop = loops.at(places.place_of(read)).loop;
  REQUIRE(loop != nullptr);
  CHECK(loop->turns == 20);
  CHECK(loop->kind == HostLoop::Turns::kCompute);
  CHECK(loop->first_line == 10);
  CHECK(loop->last_line == 12);
  CHECK(loops.at(places.place_of(launch)).loop == loop);
  CHECK(loops.at(places.place_of(other)).loop == nullptr);
}

TEST_CASE("reads alone are one copy where there are sixteen, and what is launched elsewhere stays") {
  Program program;
  const StackId read = program.line("pick", 20, "score = scores[i].item()");
  program.read(read, 16);
  const StackId few = program.line("log", 30, "values = [v.item() for v in losses]");
  program.read(few, 15);
  StackPlaces places = program.places();
  const HostLoops loops = program.loops(places);
  REQUIRE(loops.at(places.place_of(read)).loop != nullptr);
  CHECK(loops.at(places.place_of(read)).loop->kind == HostLoop::Turns::kRead);
  CHECK(loops.at(places.place_of(few)).loop == nullptr);
}

TEST_CASE("seven turns are no loop, nor those that run a model or that a test ends") {
  Program program;
  const StackId seldom = program.line("seldom", 10, "x = y.item()");
  program.read(seldom, 7);
  program.launch(seldom, 7);
  const StackId token = program.line("generate", 31, "word = logits.argmax().item()");
  program.read(token, 40);
  program.launch(program.stack({{kModule, "Module._call_impl", 1}, {kTrain, "generate", 30}, {kTrain, "main", 50}}),
                 40);
  StackPlaces places = program.places();
  const HostLoops loops = program.loops(places);
  for (const StackId stack : {seldom, token}) CHECK(loops.at(places.place_of(stack)).loop == nullptr);
}

// A policy that is called for each environment, and one that writes a text: the next token needs the one before.
TEST_CASE("a loop that calls a model with one item in each turn is told, unless a turn needs the one before") {
  Program program;
  const auto model = [&](const std::string& function, std::int32_t line, const std::string& source) {
    program.text(kTrain, static_cast<std::uint32_t>(line), source);
    return program.stack({{kModule, "Module._call_impl", 1}, {kTrain, function, line}, {kTrain, "main", 50}});
  };
  const StackId act = program.line("collect", 31, "obs[i], rewards[t, i] = env.step(action.cpu())");
  program.launch(model("collect", 30, "action = policy.actor(x.unsqueeze(0))[0]"), 40);
  program.read(act, 40);
  const StackId write = program.line("write", 41, "words.append(token.item())");
  program.launch(model("write", 40, "token = model(token.unsqueeze(0)).argmax()"), 40);
  program.read(write, 40);
  StackPlaces places = program.places();
  const HostLoops loops = program.loops(places);
  const HostLoop* loop = loops.at(places.place_of(act)).loop;
  REQUIRE(loop != nullptr);
  CHECK((loop->first_line == 30 && loop->last_line == 31 && loop->turns == 40));
  CHECK((loop->takes_single_items && loop->runs_modules && loop->model == "policy.actor"));
  CHECK(loops.at(places.place_of(write)).loop == nullptr);
}

TEST_CASE("a read that ends a loop is a test, with the line that computes what it tests") {
  Program program;
  const StackId update = program.line("solve", 20, "x_new = step(x)");
  const StackId change = program.line("solve", 21, "change = (x_new - x).norm()");
  const StackId test = program.line("solve", 22, "if change.item() < tol:");
  program.launch(update, 40);
  program.launch(change, 40);
  program.read(test, 40);
  StackPlaces places = program.places();
  const HostLoops loops = program.loops(places);
  const HostLoop* loop = loops.at(places.place_of(test)).loop;
  REQUIRE(loop != nullptr);
  CHECK(loop->kind == HostLoop::Turns::kTest);
  CHECK(loop->turns == 40);
  CHECK(loop->first_line == 21);
  CHECK(loop->last_line == 22);
  CHECK(loops.at(places.place_of(change)).loop == loop);
  CHECK(loops.at(places.place_of(update)).loop == nullptr);
}

TEST_CASE("a function that returns what it reads is in a loop only where its caller collects") {
  Program program;
  const StackId alone = program.stack({{kTrain, "count", 12}, {kTrain, "pool", 30}, {kTrain, "main", 50}});
  program.text(kTrain, 12, "return int(index.max()) + 1");
  program.text(kTrain, 30, "n = count(index)");
  const StackId collected = program.stack({{kTrain, "index_of", 40}, {kTrain, "sigmas", 44}, {kTrain, "main", 50}});
  program.text(kTrain, 40, "return (table == t).nonzero().item()");
  program.text(kTrain, 44, "steps = [index_of(t) for t in timesteps]");
  for (const StackId stack : {alone, collected}) {
    program.read(stack, 20);
    program.launch(stack, 20);
  }
  StackPlaces places = program.places();
  const HostLoops loops = program.loops(places);
  CHECK(loops.at(places.place_of(alone)).loop == nullptr);
  CHECK(loops.at(places.place_of(collected)).loop != nullptr);
}

TEST_CASE("a loop that collects what each turn computes needs no read, but none whose turns need the one before") {
  Program program;
  const auto loop_of = [&](const std::string& function, const std::string& source, const std::string& before) {
    const int line = 100 + 10 * static_cast<int>(function.size());
    const StackId collects = program.line(function, line, source);
    const StackId first = program.line(function, line - 1, before);
    program.launch_kernels(first, 20);
    program.launch_kernels(collects, 20);
    return collects;
  };
  const StackId heads = loop_of("a", "flows.append(head(state[:, i]))", "part = x[:, i] * scale");
  const StackId parts = loop_of("ab", "out[:, i] = torch.softmax(x[i], 0)", "loss = loss + f(x[i])");
  const StackId state = loop_of("abc", "outs.append(h.clone())", "h = torch.tanh(x[:, t] + h @ w)");
  const StackId cell = loop_of("abcd", "states[i] = cell(x, states[i])", "x = x + 1");
  const StackId chosen = loop_of("abcde", "chosen[:, i] = farthest", "y = f(x)");
  StackPlaces places = program.places();
  const HostLoops loops = program.loops(places);
  for (const StackId stack : {heads, parts}) {
    const HostLoop* loop = loops.at(places.place_of(stack)).loop;
    REQUIRE(loop != nullptr);
    CHECK(loop->kind == HostLoop::Turns::kCompute);
    CHECK(loop->turns == 20);
    CHECK(loop->last_line == loop->first_line + 1);
  }
  for (const StackId stack : {state, cell, chosen}) CHECK(loops.at(places.place_of(stack)).loop == nullptr);
}

TEST_CASE("a line of which most is another function's is not the loop's") {
  Program program;
  const StackId read = program.line("find", 12, "found.append(hits[0].item())");
  const StackId shared = program.stack({{kTrain, "norm", 5}, {kTrain, "find", 11}, {kTrain, "main", 50}});
  const StackId elsewhere = program.stack({{kTrain, "norm", 5}, {kTrain, "main", 51}});
  program.read(read, 20);
  program.launch(shared, 20);
  program.launch(elsewhere, 20);
  StackPlaces places = program.places();
  const HostLoops loops = program.loops(places);
  CHECK(loops.at(places.place_of(read)).loop != nullptr);
  CHECK(loops.at(places.place_of(shared)).loop == nullptr);
}

TEST_CASE("a function that copies data in the steps computes with it, unless it keeps the data") {
  Program program;
  const StackId search = program.line("Index.search", 10, "hidden = hidden.cpu().numpy()");
  program.read(search, 1, 1 << 20);
  const StackId idle = program.line("Index.size", 14, "sizes = sizes.cpu()");
  program.read(idle, 1, 1 << 20);
  const StackId save = program.line("save_state", 20, "torch.save(model.state_dict(), path)");
  program.read(save, 1, 1 << 20);
  const StackId number = program.line("read", 30, "value = loss.item()");
  program.read(number, 1, 4);
  const StackId loop = program.line("main", 52, "x = y.cpu()");
  program.read(loop, 1, 1 << 20);
  for (const StackId stack : {search, save, number, loop}) program.sample(stack, 20);
  StackPlaces places = program.places();
  const CpuWork work = program.cpu_work(places);
  REQUIRE(work.of(places.line_of(search)) != nullptr);
  CHECK(work.of(places.line_of(search))->most == 10);
  for (const StackId stack : {save, number, loop, idle}) CHECK(work.of(places.line_of(stack)) == nullptr);
}

TEST_CASE("what a function makes on the host and copies in each step is told by where it does so") {
  Program program;
  const auto made_in = [&](const std::string& function, std::int32_t line, const char* caller) {
    const StackId copy = program.stack({{kTrain, function, line}, {caller, "_call_impl", 9}, {kTrain, "main", 50}});
    program.copy_to_gpu(copy, kSteps);
    return copy;
  };
  const StackId tables = made_in("Bias.forward", 10, kModule);
  const StackId samples = made_in("Waves.__getitem__", 20, "/site-packages/torch/utils/data/_utils/fetch.py");
  const StackId batch = made_in("Replay.draw", 30, kTrain);
  for (const StackId stack : {tables, samples, batch}) program.sample(stack, 50);
  const StackId moved = made_in("move", 60, kTrain);  // what others made
  const StackId before = program.stack({{kTrain, "Replay.draw", 28}, {kTrain, "main", 50}});
  const StackId after = program.stack({{kTrain, "Replay.draw", 31}, {kTrain, "main", 50}});
  program.sample(before, 100);
  program.sample(after, 100);
  const StackId seldom = program.stack({{kTrain, "once", 40}, {kTrain, "main", 50}});
  program.copy_to_gpu(seldom, 1);
  StackPlaces places = program.places();
  const HostData data = program.data(places);
  const auto made = [&](StackId stack) {
    const DataOfHost* found = data.at(places.place_of(stack));
    return found == nullptr ? -1 : static_cast<int>(found->made);
  };
  CHECK(made(tables) == static_cast<int>(DataOfHost::Made::kInForward));
  CHECK(made(samples) == static_cast<int>(DataOfHost::Made::kInLoader));
  CHECK(made(batch) == static_cast<int>(DataOfHost::Made::kInStep));
  CHECK(made(before) == made(batch));
  CHECK(made(after) == -1);  // behind the copy it works for something else
  CHECK(made(seldom) == -1);
  CHECK(made(moved) == -1);
}

// JAX hands arrays to the GPU by a copy on the thread that calls it, and one on a thread of its own.
TEST_CASE("a function named for data that only hands it over makes it, and may be most of a step") {
  Program program;
  program.sample(program.stack({{kTrain, "Loader.next_batch", 51}, {kTrain, "main", 50}}), 50);
  const StackId over = program.stack({{"/jax/_src/core.py", "apply", 1},
                                      {"/jax/_src/numpy/array.py", "asarray", 2},
                                      {kTrain, "Loader.next_batch", 53},
                                      {kTrain, "main", 50}});
  program.launch(over, 1);
  const StackId draws = program.stack({{kTrain, "draw_batch", 60}, {kTrain, "main", 50}});
  program.sample(draws, 50);
  program.launch(draws, 1);
  StackPlaces places = program.places();
  const HostData data = program.data(places);
  const DataOfHost* made =
      data.at(places.place_of(program.stack({{kTrain, "Loader.next_batch", 51}, {kTrain, "main", 50}})));
  REQUIRE(made != nullptr);
  CHECK(made->takes_half_of_steps);
  CHECK(data.at(places.place_of(draws)) == nullptr);
}

}  // namespace synctrace::testing::host_loops_test
