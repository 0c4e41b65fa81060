// SPDX-License-Identifier: Apache-2.0
// Steps of programs that nobody annotated. By hand: what a single rule of the finder decides. Recorded: programs of
// tests/gpu/step_shapes.py on an H200, whose steps and lines are known.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "code/compiler_code.h"
#include "steps/compile_time.h"
#include "steps/steps.h"
#include "support/catch.h"
#include "support/golden_traces.h"
#include "support/program_by_hand.h"

namespace synctrace::testing {

TEST_CASE("what a compiler runs to choose among kernels is no phase") {
  const std::string_view compiler = GENERATE("/venv/jax/_src/compiler.py", "/home/user/tuning.py");
  const bool is_compilers = compiler.starts_with("/venv");
  const bool elsewhere = GENERATE(false, true);  // on a thread of the compiler's, or on the program's own
  CAPTURE(compiler, elsewhere);
  Program program;
  const StackId compiles = program.at({{"main", 5}, {"backend_compile", 9, compiler}});
  const auto tune = [&] {
    for (int i = 0; i < 40; ++i) {
      program.kernels("candidate", 5, {}, elsewhere ? kWorker : kMain);
      program.wait({}, elsewhere ? kWorker : kMain);
    }
  };
  program.wait(program.at({{"main", 3}}));
  if (elsewhere) {
    program.sleep(compiles, tune);
  } else {
    program.kernel("tried", compiles);
    tune();
    program.kernel("tried", compiles);
  }
  for (int i = 0; i < 20; ++i) {
    program.kernels("step", 12, program.at({{"main", 7}}));
    program.wait(program.at({{"main", 8}}));
  }
  const StepPhases found = program.steps();
  CHECK(found.others.empty() == is_compilers);
  if (is_compilers) CHECK(found.chosen.steps.size() == 20);
}

// torch.compile gives up after eight tries, and the loop goes on without it.
TEST_CASE("steps that compile what many more passes of their line run are its start, not the program's steps") {
  const std::string_view compiler = GENERATE("/venv/torch/_dynamo/convert_frame.py", "/home/user/save.py");
  const int passes = GENERATE(3, 5);  // for each that compiles
  CAPTURE(compiler, passes);
  Program program;
  const StackId compiles = program.at({{"main", 5}, {"_compile", 9, compiler}});
  const auto step = [&](std::string_view kind, int kernels) {
    program.kernels(kind, kernels, program.at({{"main", 5}}));
    program.wait(program.at({{"main", 6}}));
  };
  for (int i = 0; i < 10; ++i) {
    program.sleep(compiles, [&] { program.pass(4'000'000); });
    step("fused", 12);
  }
  for (int i = 0; i < 10 * passes; ++i) step("eager", 24);
  const StepPhases found = program.steps();
  REQUIRE(found.others.size() == 1);
  const bool is_start = compiler.starts_with("/venv") && passes == 5;
  CHECK((found.chosen.steps.size() > 10) == is_start);
}

// XLA names the work of its threads so, and the program's own work is little beside it.
TEST_CASE("ranges of a compiler are no steps") {
  const std::string_view compiler = GENERATE("/venv/jax/_src/compiler.py", "/home/user/tuning.py");
  const bool is_compilers = compiler.starts_with("/venv");
  Program program;
  const StackId compiles = program.at({{"main", 5}, {"backend_compile", 9, compiler}});
  program.sleep(compiles, [&] {
    for (int i = 0; i < 40; ++i)
      program.range("XlaCompileBackend:#7", kWorker, [&] { program.kernels("candidate", 20, {}, kWorker); });
  });
  for (int i = 0; i < 20; ++i) {
    program.kernels("step", 12, program.at({{"main", 7}}));
    program.wait(program.at({{"main", 8}}));
  }
  const Steps steps = program.steps().chosen;
  CHECK(steps.source == (is_compilers ? StepSource::kLoop : StepSource::kNvtx));
  CHECK(steps.steps.size() == (is_compilers ? 20 : 40));
}

TEST_CASE("what runs compiled code is no compiler") {
  CHECK(is_compiler_code("/venv/torch/_inductor/runtime/triton_heuristics.py", "CachingAutotuner.bench"));
  CHECK_FALSE(is_compiler_code("/venv/torch/_inductor/runtime/triton_heuristics.py", "CachingAutotuner.run"));
  CHECK(is_compiler_code("/venv/triton/runtime/autotuner.py", "Autotuner._bench"));
  CHECK_FALSE(is_compiler_code("/venv/triton/runtime/autotuner.py", "Autotuner.run"));
  CHECK(is_compiler_code("/venv/torch/_dynamo/convert_frame.py", "_compile"));
  CHECK(is_native_compiler_code("tsl::SubProcess::Communicate(std::string const*)"));
  CHECK_FALSE(is_native_compiler_code("llvm::StdThreadPool::wait(llvm::ThreadPoolTaskGroup&)"));
  CHECK(is_compiler_code("/venv/torch/_inductor/graph.py", "GraphLowering.run"));
  CHECK(is_compiler_code("/venv/torch/_inductor/runtime/benchmarking.py", "InductorBenchmarker.benchmark_gpu"));
  CHECK_FALSE(
      is_compiler_code("/venv/torch/_dynamo/eval_frame.py", "_TorchDynamoContext.__call__.<locals>.compile_wrapper"));
  CHECK_FALSE(is_compiler_code("/home/user/compiler.py", "backend_compile"));
}

// The first step has some of the set-up before it, as nothing tells where that ends.
TEST_CASE("the line of a loop is in the loop") {
  Program program;
  program.kernel("mark", program.at({{"<module>", 10}}));
  program.kernels("init", 2);
  for (int i = 0; i < 20; ++i) {
    if (i > 0) program.kernel("mark", program.at({{"<module>", 21}}));
    for (int k = 0; k < 10; ++k) program.kernel("work", program.at({{"<module>", 22}}));
    program.wait(program.at({{"<module>", 23}}));
  }
  const Steps steps = program.steps().chosen;
  CHECK(steps.steps.size() == 20);
  CHECK(steps.where.line == 21);
}

// A model's method makes one token. The stacks go back within it in each step, and yet it does not loop.
TEST_CASE("a function that is called anew in each step is not the loop") {
  Program program;
  const StackId first = program.at({{"generate", 30}, {"next_token", 5}});
  const StackId second = program.at({{"generate", 30}, {"next_token", 6}});
  const StackId outside = program.at({{"generate", 31}});
  for (int i = 0; i < 30; ++i) {
    program.kernels("token", 6, first);
    program.kernels("chosen", 3, second);
    program.kernel("put_behind", i % 10 == 4 ? outside : StackId{});
    program.wait();
  }
  const Steps steps = program.steps().chosen;
  CHECK(steps.steps.size() == 30);
  CHECK(steps.name == "generate");
  CHECK(steps.where.line >= 30);
}

// Lengths vary from batch to batch, and with them the kernels. Each has the optimizer's work.
TEST_CASE("an odd step with an optimizer's work is a step") {
  const std::string optimizer = GENERATE("adam", "other");
  Program program;
  for (int i = 0; i < 60; ++i) {
    const bool is_odd = i % 7 == 3;
    program.kernels("both", 6);
    program.kernels(is_odd ? "short" : "long", 10);
    program.kernel(optimizer);
    program.wait();
  }
  const Steps steps = program.steps().chosen;
  CHECK((steps.steps.size() >= 59) == (optimizer == "adam"));
}

// From some length of the text on, other kernels do the same: of what a step runs, half has another name. `hidden`:
// then no stack shows what calls the function that runs them.
void decode(Program& program, const std::vector<Place>& from, int first, int last, std::string_view library,
            bool reads = false, bool hidden = false) {
  const auto at = [&](const std::vector<Place>& inner) {
    std::vector<Place> places = from;
    places.insert(places.end(), inner.begin(), inner.end());
    return program.at(places);
  };
  const StackId token = at({{"generate", 30}, {"next_token", 5}});
  const StackId chosen = at({{"generate", 30}, {"next_token", 6}});
  const StackId outside = at({{"generate", 31}});
  for (int i = first; i < last; ++i) {
    program.kernel("embedding", token);
    for (int layer = 0; layer < 6; ++layer) {
      program.kernels("layer", 3);
      program.kernels(i < 44 ? "gemm" : library, 4);
    }
    program.kernel("head", chosen);
    program.kernel("put_behind", i % 10 == 4 && (i < 44 || !hidden) ? outside : StackId{});
    if (reads) program.wait(outside);
  }
}

TEST_CASE("a loop that goes over to other kernels is one loop") {
  const bool hidden = GENERATE(false, true);
  Program program;
  for (const int tokens : {50, 70, 60}) {
    program.wait(program.at({{"main", 10}}));
    decode(program, {{"main", 11}}, 0, tokens, "other_gemm", false, hidden);
    program.wait(program.at({{"main", 12}}));
  }
  const StepPhases found = program.steps();
  CHECK(found.chosen.steps.size() == 180);
  CHECK(found.chosen.name == "generate");
  CHECK(found.others.empty());
}

// Called from two lines, or of other sizes, or with something between: loops of their own, of one function or not.
TEST_CASE("two loops of one function are two phases") {
  const std::string difference = GENERATE("line of the caller", "work", "what lies between");
  CAPTURE(difference);
  Program program;
  for (int round = 0; round < 3; ++round) {
    const int line = difference == "line of the caller" ? 12 : 11;
    decode(program, {{"main", 11}}, 0, 30, "", true);
    if (difference == "what lies between") {
      program.wait(program.at({{"main", 20}}));
      program.kernels("something_else", 60);
    }
    if (difference == "work") {
      for (int i = 0; i < 30; ++i) {
        program.kernel("embedding", program.at({{"main", line}, {"generate", 30}, {"next_token", 5}}));
        for (int layer = 0; layer < 3; ++layer) program.kernels("validates", 4);
        program.wait(program.at({{"main", line}, {"generate", 31}}));
      }
    } else {
      decode(program, {{"main", line}}, 44, 74, "other_gemm", true);
    }
    program.wait(program.at({{"main", 14}}));
    program.kernels("between_rounds", 60);
  }
  const StepPhases found = program.steps();
  CHECK(found.chosen.steps.size() == 90);
  REQUIRE(found.others.size() == 1);
  CHECK(found.others.front().steps.size() == 90);
}

TEST_CASE("how sure steps are") {
  struct Known {
    int steps = 30;
    int varied = 0;  // items, among the 20 of a step
    bool waits = true;
    StepConfidence confidence = StepConfidence::kHigh;
  };
  const std::vector<Known> all = {{7, 0, true, StepConfidence::kLow},     {8, 0, true, StepConfidence::kHigh},
                                  {30, 1, true, StepConfidence::kHigh},   {30, 2, true, StepConfidence::kHigh},
                                  {30, 3, true, StepConfidence::kMedium}, {30, 0, false, StepConfidence::kLow}};
  for (const Known& known : all) {
    CAPTURE(known.steps, known.varied, known.waits);
    Program program;
    for (int i = 0; i < known.steps; ++i) {
      program.kernels("step", known.waits ? 19 - known.varied : 20);
      for (int k = 0; k < known.varied; ++k) program.kernel("varied" + std::to_string((i * 4 + k) % 40));
      if (known.waits) program.wait();
    }
    const Steps steps = program.steps().chosen;
    CHECK(static_cast<int>(steps.steps.size()) == known.steps);
    CHECK(steps.confidence == known.confidence);
    CHECK(steps.doubt.empty() == (known.confidence == StepConfidence::kHigh));
  }
}

// In a flood of waits no time is left for all stacks.
TEST_CASE("rounds of unlike work are found where some of their reads have no stack") {
  Trace trace = load_golden({std::filesystem::path(SYNCTRACE_GOLDEN_FOLDER) / "steps" / "engine.synctrace", "engine"});
  const auto forget = [](auto& rows) {
    constexpr Nanoseconds kSliceNs = 4'000'000;  // some rounds long
    for (auto& row : rows) {
      if (row.span.begin_ns / kSliceNs % 8 == 0) row.stack = {};
    }
  };
  forget(trace.calls);
  forget(trace.launches);
  const Steps steps = find_steps(trace, Correlation(trace)).chosen;
  CHECK(steps.steps.size() >= 298);
  CHECK(steps.steps.size() <= 302);
  CHECK(steps.classes.size() == 2);
}

TEST_CASE("the steps of recorded programs are found, and the line of each loop") {
  struct Known {
    std::string_view name;
    std::size_t steps = 0;
    std::uint32_t first_line = 0;
    std::uint32_t last_line = 0;
    std::size_t other_steps = 0;  // steps of the other phase; 0: there is none
  };
  const std::vector<Known> all = {{"variable_shapes", 60, 436, 442, 0},
                                  {"jax_rare_wait", 300, 40, 44, 0},
                                  {"jax_with_evaluation", 300, 51, 54, 180},
                                  {"cupy_sweep", 300, 22, 29, 0},       // most looks see one call again
                                  {"jax_set_up", 300, 40, 44, 0},       // six parameters before the loop are no phase
                                  {"decode_no_read", 83, 378, 380, 0},  // all that was seen is called anew
                                  {"engine", 300, 307, 311, 0}};        // each round does other work
  for (const Known& known : all) {
    INFO(std::string(known.name));
    const std::filesystem::path path =
        std::filesystem::path(SYNCTRACE_GOLDEN_FOLDER) / "steps" / (std::string(known.name) + ".synctrace");
    const Trace trace = load_golden({path, std::string(known.name)});
    const Correlation correlation(trace);
    const StepPhases found = find_steps(trace, correlation);
    const auto is_about = [](std::size_t count, std::size_t truth) { return count + 2 >= truth && count <= truth + 2; };
    CHECK(is_about(found.chosen.steps.size(), known.steps));
    CHECK((found.chosen.classes.size() == 2) == (known.name == "engine"));
    CHECK(found.chosen.where.line >= known.first_line);
    CHECK(found.chosen.where.line <= known.last_line);
    REQUIRE(found.others.size() == (known.other_steps == 0 ? 0 : 1));
    if (known.other_steps != 0) CHECK(is_about(found.others.front().steps.size(), known.other_steps));
  }
}

}  // namespace synctrace::testing
