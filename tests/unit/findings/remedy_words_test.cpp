// SPDX-License-Identifier: Apache-2.0
// What a reader is told to write, by the framework and the text of the line.
#include "findings/remedies/remedy_words.h"

#include "support/catch.h"

namespace synctrace::testing::remedy_words_test {
namespace {

ShownFix at(const std::string& source) {
  ShownFix fix;
  fix.where.file = "/home/user/train.py";
  fix.where.line = 3;
  fix.where.function = "train";
  fix.where.source = source;
  return fix;
}

RemedyGroup group(RemedyKind kind, std::string function = {}) {
  RemedyGroup group;
  group.kind = kind;
  group.function = std::move(function);
  return group;
}

RemedyWords words(RemedyKind kind, Framework framework, const std::vector<std::string>& sources) {
  std::vector<ShownFix> fixes;
  for (const std::string& source : sources) fixes.push_back(at(source));
  return remedy_words({.kind = kind, .function = "sampling.<locals>.farthest"}, framework, fixes,
                      {{LaunchTarget::Kind::kModule, "model", "GPT", false, "train.py:3", 0}});
}

}  // namespace

TEST_CASE("a copy gets non_blocking=True in each of its calls, and only once") {
  CHECK(with_non_blocking("x, y = x.to(device), y.cuda()") ==
        "x, y = x.to(device, non_blocking=True), y.cuda(non_blocking=True)");
  CHECK(with_non_blocking("x = x.to(device_of(x), dtype)") == "x = x.to(device_of(x), dtype, non_blocking=True)");
  CHECK(with_non_blocking("x = x.to(device, non_blocking=True)").empty());
  CHECK(with_non_blocking("x = x.to(").empty());
  CHECK(with_non_blocking("x = x + 1").empty());
}

TEST_CASE("a value that is read is called by its name, and what to write fits how it is read") {
  const RemedyWords loss = words(RemedyKind::kReadLater, Framework::kPyTorch, {"total += loss.item()"});
  CHECK(loss.title == "Read loss every 50 steps");
  REQUIRE(loss.to_type.size() == 1);
  // ".item()" of the step before would wait just as long, behind the newest kernels.
  CHECK(loss.to_type.front() == "keep loss.detach(); call .item() every 50 steps, not in each");

  const RemedyWords both =
      words(RemedyKind::kReadLater, Framework::kPyTorch, {"n = int(sizes.max().item())", "if not valid.any():"});
  CHECK(both.title == "Read the values every 50 steps");
  REQUIRE(both.to_type.size() == 2);
  CHECK(both.to_type[0].find("upper bound") != std::string::npos);
  CHECK(both.to_type[1].find("torch.where") != std::string::npos);

  const RemedyWords shown = words(RemedyKind::kReadLater, Framework::kPyTorch, {"print(loss)"});
  REQUIRE(shown.to_type.size() == 1);
  CHECK(shown.to_type.front().find("print") != std::string::npos);
  CHECK(words(RemedyKind::kReadLater, Framework::kPyTorch, {"x = self.loss.item()"}).title ==
        "Read the value every 50 steps");
}

TEST_CASE("several values are read at once, and the test of a loop less often") {
  const RemedyWords several = words(RemedyKind::kReadLater, Framework::kPyTorch, {"m = (loss.item(), mse.item())"});
  REQUIRE(several.to_type.size() == 2);
  CHECK(several.to_type.back() == "or, in each step, one read for all at its end: torch.stack((loss, mse)).tolist()");
  const RemedyWords test = words(RemedyKind::kReadLater, Framework::kPyTorch, {"while error.item() > goal:"});
  CHECK(test.title == "Test error every 20 iterations");
  CHECK(words(RemedyKind::kReadLater, Framework::kCupy, {"if float(norm(r)) < limit:"}).title ==
        "Test the value every 10 iterations");
}

TEST_CASE("a loop over tensors becomes functions that take all of them") {
  const RemedyWords loop =
      words(RemedyKind::kLoopOfKernels, Framework::kPyTorch, {"mean.mul_(beta).add_(grad, alpha=1 - beta)"});
  CHECK(loop.title.starts_with("Launch one kernel for all tensors"));
  CHECK(loop.to_type.front().starts_with("torch._foreach_mul_, torch._foreach_add_: "));
}

TEST_CASE("what comes from the host and returns there is computed there") {
  const RemedyWords jax = words(RemedyKind::kOnHost, Framework::kJax, {"gain = float(jnp.array(levels).mean())"});
  CHECK(jax.to_type.front().starts_with("np.array(...)"));
}

TEST_CASE("a read or a wait in a helper is left out where the helper is called") {
  const auto through = [](const std::string& source, const std::string& helper_source) {
    ShownFix fix = at(source);
    fix.where.through = {"/home/user/utils.py", 5, "to_numpy", helper_source};
    return fix;
  };
  const ShownFix first = through("a = to_numpy(loss)", "return x.detach().cpu()");
  const ShownFix second = through("b = to_numpy(score)", "return x.detach().cpu()");
  const auto words_of = [](RemedyKind kind, const std::vector<ShownFix>& fixes) {
    return remedy_words({.kind = kind, .function = {}}, Framework::kPyTorch, fixes);
  };
  const RemedyWords one = words_of(RemedyKind::kReadLater, {first});
  CHECK(one.title == "Call to_numpy every 50 steps");
  CHECK(one.to_type == std::vector<std::string>{"a = to_numpy(loss): every 50 steps, not in each"});
  const RemedyWords two = words_of(RemedyKind::kReadLater, {first, second});
  REQUIRE(two.to_type.size() == 2);
  CHECK(two.to_type[0] == "these calls of to_numpy: every 50 steps, not in each");
  CHECK(two.to_type[1].find("read all at once") != std::string::npos);
  CHECK(words_of(RemedyKind::kRemoveWait, {through("barrier()", "torch.cuda.synchronize()")}).to_type.front() ==
        "delete barrier()");
  // What is copied in vain without pinned memory is changed in the helper.
  const RemedyWords pinned = words_of(RemedyKind::kPinned, {through("x = send(x)", "return x.to(device)")});
  REQUIRE(pinned.to_type.size() == 2);
  CHECK(pinned.to_type[1] == "return x.to(device, non_blocking=True)");
  // Other lines beside it keep the words of lines.
  CHECK(words_of(RemedyKind::kReadLater, {first, at("loss.item()")}).title == "Read the values every 50 steps");
}

TEST_CASE("what becomes a graph is named: modules, functions, lines of the loop") {
  const auto typed = [](const std::vector<LaunchTarget>& modules) {
    return remedy_words(group(RemedyKind::kGraph), Framework::kPyTorch, {at("y = model(x)")}, modules).to_type;
  };
  const LaunchTarget net{LaunchTarget::Kind::kModule, "net", "Net", false, "train.py:3", 0};
  const LaunchTarget head{LaunchTarget::Kind::kModule, {}, "Head", false, "train.py:3", 0};
  CHECK(typed({net}) ==
        std::vector<std::string>{"fast_net = torch.compile(net, mode=\"reduce-overhead\") before the loop",
                                 "call fast_net in place of net in train.py:3"});
  CHECK(typed({net, head}).back() == "above forward of Head: @torch.compile(mode=\"reduce-overhead\")");
  CHECK(typed({{LaunchTarget::Kind::kModule, {}, {}, false, "train.py:3", 0}}).front() ==
        "before the loop, torch.compile(module, mode=\"reduce-overhead\") of the module that train.py:3 calls");
  // A library calls it.
  CHECK(typed({{LaunchTarget::Kind::kModule, {}, "Bert", true, "trainer.py:3", 0}}).front() ==
        "model.compile(mode=\"reduce-overhead\") before the loop; model: your Bert");
  CHECK(typed({net, head, net}).back().ends_with("; likewise 1 more"));

  const auto compiled = [](Framework framework, const std::string& function) {
    return remedy_words(group(RemedyKind::kCompile, function), framework, {at("y = f(x)")});
  };
  CHECK(compiled(Framework::kPyTorch, "Net.loss").title == "Compile Net.loss");
  CHECK(compiled(Framework::kPyTorch, "Net.loss").to_type.front() ==
        "above def loss: @torch.compile(mode=\"reduce-overhead\")");
  CHECK(compiled(Framework::kPyTorch, "Block.forward").to_type.front() ==
        "above def forward of Block: @torch.compile(mode=\"reduce-overhead\")");
  CHECK(compiled(Framework::kJax, "step").to_type.front() == "above def step: @jax.jit");
  CHECK(compiled(Framework::kJax, "").to_type.front() == "move line 3 into a function, with @jax.jit above it");
  CHECK(compiled(Framework::kCupy, "sweep").to_type.front().find("begin_capture(); sweep(...)") != std::string::npos);
  CHECK(words(RemedyKind::kGraph, Framework::kCuda, {""}).to_type.front().find("cudaStreamBeginCapture") !=
        std::string::npos);
}

TEST_CASE("an environment that has a framework's name is none") {
  SourceLine line;
  line.stack.emplace_back().frame.module =
      "/opt/torch/.venv/lib/site-packages/jax_plugins/xla_cuda13/xla_cuda_plugin.so";
  CHECK(Frameworks(Trace()).of(std::vector<const SourceLine*>{&line}) == Framework::kJax);
  line.stack.back().frame.module = "/opt/jax/lib/site-packages/torch/lib/libtorch.so";
  CHECK(Frameworks(Trace()).of(std::vector<const SourceLine*>{&line}) == Framework::kPyTorch);
  CHECK(within_packages("/home/user/train.py") == "/home/user/train.py");
}

TEST_CASE("a call that no step needs is deleted by its name") {
  const RemedyWords both =
      words(RemedyKind::kDropCall, Framework::kPyTorch, {"gc.collect(); torch.cuda.empty_cache()"});
  CHECK(both.title == "Delete gc.collect() and torch.cuda.empty_cache()");
  REQUIRE(both.to_type.size() == 2);
  CHECK(both.to_type.front().starts_with("delete gc.collect()"));
  CHECK(needless_calls(at("x = my_gc.collect(y)").where).empty());
  CHECK(needless_calls(at("step()  # not gc.collect()").where).empty());
}

TEST_CASE("a function that holds the whole loop is not what is to be faster") {
  ShownFix fix = at("x = prepare(x)");
  fix.where.function = "main";
  CHECK(remedy_words(group(RemedyKind::kHostCode), Framework::kPyTorch, {fix}).title ==
        "Make train.py:3 twice as fast");
  fix.where.function = "prepare";
  CHECK(remedy_words(group(RemedyKind::kHostCode), Framework::kPyTorch, {fix}).title == "Make prepare twice as fast");
}

TEST_CASE("a value that has no name in the line gets none that is not the user's") {
  const RemedyWords unnamed = words(RemedyKind::kReadLater, Framework::kPyTorch, {"(a @ b).sum().item()"});
  CHECK(unnamed.to_type.front() == "keep the tensor; call .item() every 50 steps, not in each");
  const RemedyWords as_float = words(RemedyKind::kReadLater, Framework::kPyTorch, {"total += float(loss)"});
  CHECK(as_float.to_type.front() == "keep loss.detach(); call float() every 50 steps, not in each");
  const RemedyWords jax = words(RemedyKind::kReadLater, Framework::kJax, {"total += float(loss)"});
  CHECK(jax.to_type.front().starts_with("keep loss; call float() on the one of the step before"));
}

TEST_CASE("a graph is named after what its lines are of the step") {
  const auto title = [](const std::vector<std::string>& sources) {
    return words(RemedyKind::kGraph, Framework::kPyTorch, sources).title;
  };
  CHECK(title({"loss.backward()"}) == "Put backward into a CUDA graph");
  CHECK(title({"loss.backward()", "y = self.layer(x)"}) == "Put forward and backward into a CUDA graph");
  CHECK(title({"optimizer.step()"}) == "Put the optimizer's step into a CUDA graph");
}

TEST_CASE("a loop of kernels is named by its function") {
  const RemedyWords loop = words(RemedyKind::kLoopOfKernels, Framework::kPyTorch, {"x = torch.minimum(x, y)"});
  CHECK(loop.title.find("farthest") != std::string::npos);
  CHECK(loop.to_type.front().starts_with("above def farthest: @torch.compile"));
}

TEST_CASE("many copies from one line are one copy, or constants that the line makes each time") {
  CHECK(
      words(RemedyKind::kOneCopy, Framework::kPyTorch, {"parts = [torch.tensor(r).to(device) for r in rows]"}).title ==
      "Make one copy of the many small ones");
  CHECK(words(RemedyKind::kOneCopy, Framework::kPyTorch, {"left[rows, query] = 1e10"}).title ==
        "Make these constants on the GPU once");
}

TEST_CASE("what breaks a compiled model's graph goes, or stays a tensor") {
  const auto first = [](const char* source) {
    return words(RemedyKind::kOneGraph, Framework::kPyTorch, {source}).to_type.front();
  };
  CHECK(first("self.scale = x.detach().abs().max().item()") == "self.scale = x.detach().abs().max()");
  CHECK(first("check_shape(x)") == "delete check_shape(x), or call it outside of the compiled model");
  CHECK(first("if x.mean().item() > 0:").find("torch.where") != std::string::npos);
  CHECK(first("print(x.mean())").find("print") != std::string::npos);
  CHECK(first("def forward(self, x):").find("TORCH_LOGS=graph_breaks") != std::string::npos);
}

TEST_CASE("a loop over items is one operation, or one copy, and a report that is made less often") {
  HostLoop loop{"/home/user/train.py", "Ban.__call__", 28, 35, 128, HostLoop::Turns::kCompute};
  const auto say = [&](Framework framework = Framework::kPyTorch) {
    RemedyGroup of_loop = group(RemedyKind::kAllAtOnce);
    of_loop.loop = &loop;
    return remedy_words(of_loop, framework, {at("tokens = ids[row].tolist()")});
  };
  const RemedyWords ban = say();
  CHECK(ban.title == "Do 128 turns of a loop in one operation");
  REQUIRE(ban.to_type.size() == 2);
  CHECK(ban.to_type[0] == "lines 28 to 35 run 128 times in each step: give the whole tensor to one operation");
  CHECK(ban.to_type[1].find(".tolist()") != std::string::npos);
  CHECK(ban.part.part() == 127);
  CHECK(ban.part.whole() == 128);
  CHECK(say(Framework::kJax).to_type[0].ends_with("jax.jit(jax.vmap(function))"));
  loop.of_parameters = true;
  CHECK(say().to_type[0].ends_with("all tensors in one list, torch._foreach_norm(tensors)"));
  loop.of_parameters = false;
  loop.function = "watch_gradients";
  CHECK(say().to_type.back() == "if watch_gradients only reports: run it every 50 steps");
  loop.function = "Heads.forward";
  loop.reads = false;
  loop.runs_modules = true;
  CHECK(say().to_type.back().find("torch.bmm") != std::string::npos);
  loop.kind = HostLoop::Turns::kRead;
  CHECK(say().title == "Read the 128 values of a loop at once");
  CHECK(say().to_type.size() == 1);
}

TEST_CASE("what ends a loop is tested in every tenth turn, with what computes it") {
  HostLoop loop{"/home/user/train.py", "solve", 41, 43, 60, HostLoop::Turns::kTest};
  loop.test = "if change.item() < self.tol:";
  RemedyGroup of_loop = group(RemedyKind::kTestLess);
  of_loop.loop = &loop;
  const RemedyWords words = remedy_words(of_loop, Framework::kPyTorch, {at(loop.test)});
  CHECK(words.title == "Test in every tenth turn whether solve is done");
  REQUIRE(words.to_type.size() == 3);
  CHECK(words.to_type[0] == "if turn % 10 == 9 and change.item() < self.tol:");
  CHECK(words.to_type[1] == "line 41 too: only where turn % 10 == 9");
  CHECK(words.part.fraction() == 0.9);
}

TEST_CASE("what a function computes on the CPU with data of the GPU is to be computed there") {
  const CpuFunction function{"/home/user/train.py", "Index.search", 73, 73};
  RemedyGroup on_cpu = group(RemedyKind::kOnGpu);
  on_cpu.on_cpu = &function;
  const RemedyWords torch = remedy_words(on_cpu, Framework::kPyTorch, {at("order = np.argsort(-sims)")});
  CHECK(torch.title == "Compute Index.search on the GPU");
  CHECK(torch.to_type.front().starts_with("keep what line 73 copies to the CPU: torch operations"));
  CHECK(remedy_words(on_cpu, Framework::kCupy, {at("x")}).to_type.front().find("cupy") != std::string::npos);
}

TEST_CASE("data that the host makes is kept in a model, made by workers, or made ahead") {
  DataOfHost data{"/home/user/train.py", "Bias.forward", 57, DataOfHost::Made::kInForward};
  const auto say = [&] {
    RemedyGroup of_data = group(RemedyKind::kHostData);
    of_data.data = &data;
    return remedy_words(of_data, Framework::kPyTorch, {at("index = index.to(device)")});
  };
  CHECK(say().title == "Keep the tensors that Bias.forward builds");
  CHECK(say().to_type.front().find("self.register_buffer(") != std::string::npos);
  data.made = DataOfHost::Made::kInLoader;
  CHECK(say().to_type.back().find("num_workers=") != std::string::npos);
  data.made = DataOfHost::Made::kInStep;
  CHECK(say().title == "Have ready what Bias.forward makes in each step");
}

TEST_CASE("a loader of the GPU's tensors gets no workers, and managed memory no deleted wait") {
  const RemedyWords feed = remedy_words(group(RemedyKind::kByIndex), Framework::kPyTorch, {at("for x, y in loader:")});
  CHECK(feed.title == "Take batches of the GPU's tensors without a DataLoader");
  const RemedyWords wait =
      remedy_words(group(RemedyKind::kCopyManaged), Framework::kCuda, {at("cudaDeviceSynchronize();")});
  CHECK(wait.to_type.front().find("do not delete it alone") != std::string::npos);
}

TEST_CASE("a cell in a loop becomes a layer over the sequence") {
  ShownFix cell = at("h, c = self.cell(x[:, t], (h, c))");
  ResolvedFrame frame;
  frame.kind = FrameKind::kPython;
  frame.file = "/site-packages/torch/nn/modules/rnn.py";
  frame.function = "GRUCell.forward";
  cell.where.stack.push_back({frame, {}});
  const ShownFix backward = at("loss.backward()");
  const RemedyWords layer = remedy_words(group(RemedyKind::kGraph), Framework::kPyTorch, {backward, cell});
  CHECK(layer.title == "Use nn.GRU over the whole sequence, not GRUCell in a loop");
  CHECK(remedy_words(group(RemedyKind::kGraph), Framework::kPyTorch, {backward, at("y = net(x)"), at("z = f(y)"), cell})
            .title.starts_with("Put forward and backward into a CUDA graph"));
}

TEST_CASE("JAX compiles functions of arrays, and no methods") {
  const auto compile = [&](const std::string& function) {
    return remedy_words(group(RemedyKind::kCompile, function), Framework::kJax, {at("y = f(x)")}).to_type;
  };
  CHECK(compile("update").front() == "above def update: @jax.jit");
  CHECK(compile("Walker.draw").front() ==
        "move the jax calls of draw into a function of arrays, with @jax.jit above it");
}

TEST_CASE("every remedy says what to do, in every framework") {
  for (const RemedyKind kind :
       {RemedyKind::kGraph, RemedyKind::kLoopOfKernels, RemedyKind::kOptimizer, RemedyKind::kReadLater,
        RemedyKind::kRemoveWait, RemedyKind::kStopPolling, RemedyKind::kWaitLater, RemedyKind::kPinned,
        RemedyKind::kOneCopy, RemedyKind::kKeepMemory, RemedyKind::kKeepPool, RemedyKind::kFeed, RemedyKind::kHostCode,
        RemedyKind::kNoCollection, RemedyKind::kPreload, RemedyKind::kDropDependency, RemedyKind::kOneGraph}) {
    for (const Framework framework : {Framework::kCuda, Framework::kPyTorch, Framework::kJax, Framework::kCupy}) {
      const RemedyWords remedy = words(kind, framework, {""});
      CAPTURE(static_cast<int>(kind), static_cast<int>(framework), remedy.title);
      CHECK_FALSE(remedy.title.empty());
      CHECK_FALSE(remedy.to_type.empty());
      CHECK(remedy.to_type.size() <= 2);
    }
  }
}

}  // namespace synctrace::testing::remedy_words_test
