// SPDX-License-Identifier: Apache-2.0
// Which callers of a small wait or copy helper are told apart.
#include "code/wait_helpers.h"

#include <string>
#include <vector>

#include "support/catch.h"

namespace synctrace::wait_helpers_test {
namespace {

using Stack = std::vector<ResolvedFrame>;

ResolvedFrame python(const std::string& function, std::uint32_t line, const std::string& file = "/home/ada/train.py") {
  ResolvedFrame frame;
  frame.kind = FrameKind::kPython;
  frame.named = true;
  frame.function = function;
  frame.file = file;
  frame.line = line;
  return frame;
}

ResolvedFrame native(const std::string& function, std::uint32_t line, const std::string& file = "/home/ada/solver.cu",
                     const std::string& module = "/home/ada/solver") {
  ResolvedFrame frame = python(function, line, file);
  frame.kind = FrameKind::kNative;
  frame.module = module;
  return frame;
}

ResolvedFrame cuda(const std::string& function) { return native(function, 0, "", "/usr/lib/libcudart.so.13"); }

ResolvedFrame eval_loop() {
  ResolvedFrame frame = native("_PyEval_EvalFrameDefault", 0, "", "/usr/bin/python3.11");
  frame.is_eval_loop = true;
  return frame;
}

ResolvedFrame library(const std::string& function, const std::string& file) {
  return python(function, 30, "/opt/venv/lib/python3.11/site-packages/" + file);
}

class Recording {
 public:
  explicit Recording(const std::string& executable) : code_(executable), helpers_(code_) {}

  void wait(const Stack& stack, std::uint8_t what = WaitHelpers::kWait) { helpers_.add_wait(stack, what); }
  void launch(const Stack& stack) { helpers_.add_launch(stack); }

  // "function:line" of the frame that is shown.
  std::string place(const Stack& stack) const {
    const ResolvedFrame& frame = stack[helpers_.shown_frame(stack, choose_frame(stack, code_)).caller];
    return frame.function + ":" + std::to_string(frame.line);
  }

 private:
  UserCode code_;
  WaitHelpers helpers_;
};

Stack in_read(const std::string& caller, std::uint32_t line) {
  return {cuda("cudaMemcpy"), native("read(double*)", 12, "/home/ada/util.h"), native(caller, line),
          native("main", 200)};
}

Stack in_numpy(const std::string& caller, std::uint32_t line) {
  return {library("cpu", "torch/_tensor.py"),
          python("to_numpy", 5, "/home/ada/utils.py"),
          eval_loop(),
          python(caller, line),
          eval_loop(),
          python("<module>", 90)};
}

}  // namespace

TEST_CASE("a read through one function is at the line that calls it, where several do") {
  Recording solver("/home/ada/solver");
  solver.wait(in_read("advance()", 88), WaitHelpers::kCopy);
  CHECK(solver.place(in_read("advance()", 88)) == "read(double*):12");
  solver.wait(in_read("advance()", 90), WaitHelpers::kCopy);
  CHECK(solver.place(in_read("advance()", 88)) == "advance():88");
  CHECK(solver.place(in_read("advance()", 90)) == "advance():90");
  // A look at the thread inside of the wait is there, too.
  CHECK(solver.place({cuda("poll"), native("read(double*)", 12, "/home/ada/util.h"), native("norm()", 7)}) ==
        "norm():7");
  CHECK(solver.place({native("read(double*)", 14, "/home/ada/util.h"), native("norm()", 7)}) == "read(double*):14");
}

TEST_CASE("the interpreter and decorators lie between a function of Python and its caller") {
  Recording training("/usr/bin/python3.11");
  training.wait(in_numpy("train", 20), WaitHelpers::kCopy | WaitHelpers::kWait);
  Stack decorated = in_numpy("validate", 40);
  decorated.insert(decorated.begin() + 2, library("decorate_context", "torch/utils/_contextlib.py"));
  training.wait(decorated, WaitHelpers::kCopy | WaitHelpers::kWait);
  CHECK(training.place(in_numpy("train", 20)) == "train:20");
  CHECK(training.place(decorated) == "validate:40");
}

TEST_CASE("a function that launches kernels is no helper") {
  const std::string file = "/home/ada/train.py";
  const auto wait_in_step = [](std::uint32_t caller_line) {
    return Stack{library("item", "torch/_tensor.py"), python("train_step", 15), eval_loop(),
                 python("main", caller_line)};
  };
  const auto launch = [](const Stack& inner) {
    Stack stack = inner;
    stack.push_back(eval_loop());
    stack.push_back(python("main", 50));
    return stack;
  };
  const auto place_after = [&](const Stack& launching) {
    Recording training("/usr/bin/python3.11");
    training.wait(wait_in_step(50));
    training.wait(wait_in_step(60));
    training.launch(launch(launching));
    return training.place(wait_in_step(50));
  };
  CHECK(place_after({python("other", 3)}) == "main:50");
  SECTION("in another line") { CHECK(place_after({python("train_step", 12)}) == "train_step:15"); }
  SECTION("in a function that it calls") {
    CHECK(place_after({python("loss_of", 3), python("train_step", 15)}) == "train_step:15");
  }
  SECTION("in a model that it calls in the same line") {
    CHECK(place_after({library("forward", "torch/nn/modules/linear.py"), python("train_step", 15)}) == "train_step:15");
  }
  SECTION("but not for what it makes of the value in the line that waits") {
    CHECK(place_after({library("mean", "torch/_tensor.py"), python("train_step", 15)}) == "main:50");
  }
}

TEST_CASE("a model's forward is called by nobody that matters") {
  Recording training("/usr/bin/python3.11");
  const auto wait = [](bool framework, std::uint32_t line) {
    Stack stack = {python("Net.forward", 5), eval_loop()};
    if (framework) stack.push_back(library("_call_impl", "torch/nn/modules/module.py"));
    stack.push_back(python("main", line));
    return stack;
  };
  for (const std::uint32_t line : {50U, 60U}) {
    training.wait(wait(true, line));
    training.wait(wait(false, line));
  }
  CHECK(training.place(wait(true, 50)) == "Net.forward:5");
  CHECK(training.place(wait(false, 50)) == "Net.forward:5");
}

TEST_CASE("a function that calls itself, or is called through a library, keeps its line") {
  Recording tree("/home/ada/solver");
  const Stack direct = {native("visit(Node*)", 8), native("visit(Node*)", 9), native("main", 200)};
  const Stack outer = {native("visit(Node*)", 8), native("main", 200)};
  tree.wait(direct);
  tree.wait(outer);
  CHECK(tree.place(outer) == "visit(Node*):8");
  const auto sorted = [](std::uint32_t line) {
    return Stack{native("less()", 4), native("std::sort", 99, "/usr/include/c++/12/bits/stl_algo.h"),
                 native("main", line)};
  };
  tree.wait(sorted(10));
  tree.wait(sorted(20));
  CHECK(tree.place(sorted(10)) == "less():4");
  Recording map("/usr/bin/python3.11");
  const auto nested = [](std::uint32_t line) {
    return Stack{python("to_host", 4), python("to_host.<locals>.<listcomp>", 6), python("to_host", 6),
                 python("main", line)};
  };
  map.wait(nested(10));
  map.wait(nested(20));
  CHECK(map.place(nested(10)) == "to_host:4");
}

TEST_CASE("a function that reads several values in several lines keeps its lines") {
  Recording training("/usr/bin/python3.11");
  const auto wait = [](std::uint32_t own, std::uint32_t caller) {
    return Stack{python("log_metrics", own), python("main", caller)};
  };
  for (const std::uint32_t own : {10U, 11U}) {
    for (const std::uint32_t caller : {50U, 60U}) training.wait(wait(own, caller), WaitHelpers::kCopy);
  }
  CHECK(training.place(wait(10, 50)) == "log_metrics:10");
  // A copy and the wait behind it are one read.
  Recording solver("/home/ada/solver");
  for (const std::uint32_t caller : {50U, 60U}) {
    solver.wait({native("read()", 10), native("main", caller)}, WaitHelpers::kCopy);
    solver.wait({native("read()", 11), native("main", caller)}, WaitHelpers::kWait);
  }
  CHECK(solver.place({native("read()", 11), native("main", 60)}) == "main:60");
}

TEST_CASE("the functions of a template are one helper") {
  Recording solver("/home/ada/solver");
  const auto wait = [](const std::string& type, std::uint32_t line) {
    return Stack{native(type + " read<" + type + ">(" + type + "*)", 12), native("solve()", line)};
  };
  solver.wait(wait("float", 50), WaitHelpers::kCopy);
  CHECK(solver.place(wait("float", 50)) == "float read<float>(float*):12");
  solver.wait(wait("double", 60), WaitHelpers::kCopy);
  CHECK(solver.place(wait("float", 50)) == "solve():50");
  CHECK(solver.place(wait("double", 60)) == "solve():60");
}

TEST_CASE("helpers that call helpers are gone through, up to three") {
  Recording solver("/home/ada/solver");
  const auto wait = [](std::uint32_t line) {
    return Stack{native("sync()", 3), native("to_host()", 7), native("read()", 9), native("solve()", line),
                 native("main", 200)};
  };
  solver.wait(wait(50));
  CHECK(solver.place(wait(50)) == "sync():3");
  solver.wait(wait(60));
  CHECK(solver.place(wait(50)) == "solve():50");
  solver.launch({native("to_host()", 6), native("read()", 9), native("solve()", 50)});
  CHECK(solver.place(wait(50)) == "sync():3");
}

TEST_CASE("a stack without lines of the user's has no caller") {
  Recording none("/home/ada/solver");
  none.wait({cuda("cudaMemcpy"), native("f", 0, "", "/usr/lib/libfoo.so")});
  none.wait({});
  const WaitHelpers nothing;
  const Stack stack = in_read("advance()", 88);
  CHECK(nothing.shown_frame(stack, {FrameBasis::kUserCode, 1}).caller == 1);
  CHECK_FALSE(nothing.any());
}

}  // namespace synctrace::wait_helpers_test
