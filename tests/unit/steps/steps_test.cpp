// SPDX-License-Identifier: Apache-2.0
// Steps by each kind of evidence, the warm-up, and the steps that took unusually long.
#include <algorithm>
#include <string>

#include "model/correlate.h"
#include "model/nvtx_ranges.h"
#include "steps/steps.h"
#include "support/catch.h"

namespace synctrace::testing::steps_test {
namespace {

constexpr ThreadId kThread{100};
constexpr Nanoseconds kMs = 1'000'000;

// A program that in each step makes calls at lines 10 and 20 of `train` and launches four kernels, two of them alike.
class Program {
 public:
  Program() {
    trace_.contexts[ContextId{1}] = {DeviceId{0}, StreamId{7}};
    trace_.windows.push_back({{0, 1}, "start"});
    trace_.apis[ApiId{1}] = {ApiCategory::kCopyAsync, "cudaMemcpyAsync"};
  }

  void step(Nanoseconds length_ns) {
    const Nanoseconds begin_ns = now_ns_;
    call(10, begin_ns + 1'000);
    for (const std::uint32_t name : {1U, 2U, 2U, 3U}) kernel(name);
    call(20, now_ns_ + 1'000);
    kernel(4);
    now_ns_ = begin_ns + length_ns;
  }

  void other_work(std::uint32_t name) { kernel(name); }
  void wait(Nanoseconds length_ns) { now_ns_ += length_ns; }

  void range(std::string_view text, TimeSpan span, NvtxDomainId domain = {}) {
    const StringId id{static_cast<std::uint32_t>(trace_.strings.size()) + 1'000};
    trace_.strings[id] = text;
    trace_.nvtx_events.push_back({span.begin_ns, kThread, domain, id, 0, NvtxEvent::What::kPush});
    trace_.nvtx_events.push_back({span.end_ns, kThread, domain, StringId{}, 0, NvtxEvent::What::kPop});
  }

  void annotate(std::string_view text, TimeSpan span) {
    trace_.nvtx_domains[NvtxDomainId{5}] = kAnnotationDomain;
    range(text, span, NvtxDomainId{5});
  }

  void xla(std::string_view text, TimeSpan span) {
    trace_.nvtx_domains[NvtxDomainId{6}] = "TSL";
    range(text, span, NvtxDomainId{6});
  }

  void nccl(std::string_view text, TimeSpan span) {
    trace_.nvtx_domains[NvtxDomainId{7}] = "NCCL";
    range(text, span, NvtxDomainId{7});
  }

  void module_load() {
    Call call;
    call.span = {now_ns_ + 10, now_ns_ + 20};
    call.thread = kThread;
    call.category = ApiCategory::kModule;
    trace_.calls.push_back(call);
  }

  Nanoseconds now_ns() const { return now_ns_; }

  const Trace& trace() {
    std::sort(trace_.nvtx_events.begin(), trace_.nvtx_events.end(),
              [](const NvtxEvent& a, const NvtxEvent& b) { return a.time_ns < b.time_ns; });
    trace_.first_ns = 0;
    trace_.last_ns = now_ns_;
    trace_.windows.front().span = {0, now_ns_ + kMs};
    return trace_;
  }

  Steps steps(std::string_view range = {}) {
    const Correlation correlation(trace());
    return find_steps(trace_, correlation, {.range = std::string(range)}).chosen;
  }

 private:
  void call(std::uint32_t line, Nanoseconds time_ns) {
    trace_.codes[1] = Code{"/home/user/train.py", "train", "", 9, 0x030c0000};
    StackFrame frame;
    frame.code = 1;
    frame.offset_bytes = static_cast<std::int32_t>(line) * 2;  // later in the function
    trace_.stacks[StackId{line}] = {frame};
    Call call;
    call.span = {time_ns, time_ns + 500};
    call.thread = kThread;
    call.api = ApiId{1};
    call.stack = StackId{line};
    call.category = ApiCategory::kCopyAsync;
    trace_.calls.push_back(call);
    now_ns_ = time_ns + 500;
  }

  void kernel(std::uint32_t name) {
    Launch launch;
    launch.span = {now_ns_, now_ns_ + 3'000};
    launch.thread = kThread;
    launch.correlation = CorrelationId{next_};
    trace_.launches.push_back(launch);
    Operation operation;
    operation.span = {now_ns_ + 5'000, now_ns_ + 9'000};
    operation.context = ContextId{1};
    operation.stream = StreamId{7};
    operation.correlation = CorrelationId{next_++};
    operation.name = StringId{name};
    trace_.operations.push_back(operation);
    now_ns_ += 10'000;
  }

  Trace trace_;
  Nanoseconds now_ns_ = kMs;
  std::uint32_t next_ = 1;
};

}  // namespace

TEST_CASE("steps by the loop in the stacks") {
  Program program;
  for (int i = 0; i < 20; ++i) program.step(2 * kMs);
  const Steps steps = program.steps();
  CHECK(step_source_name(steps.source) == "python-loop");
  CHECK(steps.name == "train");
  const StepFigures figures = figures_of(steps);
  CHECK(figures.count + figures.warm_up == 20);
  CHECK(figures.p50_ns == 2 * kMs);
}

TEST_CASE("of what a program says of its parts only steps are steps") {
  for (const std::string text : {"expect-no-sync:test[", "allow:ST001;max=", "warmup", "step:"}) {
    Program program;
    for (int i = 0; i < 3; ++i) {
      const Nanoseconds begin_ns = program.now_ns();
      program.step(2 * kMs);
      program.annotate(text + std::to_string(i), {begin_ns, program.now_ns() - kMs / 2});
    }
    CHECK(step_source_name(program.steps().source) == (text == "step:" ? "nvtx" : "none"));
  }
}

TEST_CASE("what XLA compiles is no step, as much as is issued inside") {
  Program program;
  for (std::uint32_t i = 0; i < 8; ++i) {
    const Nanoseconds begin_ns = program.now_ns();
    program.step(kMs);
    program.step(kMs);
    program.xla("XlaCompile:#module=jit_step" + std::to_string(i) + "#", {begin_ns, program.now_ns() - kMs / 2});
  }
  CHECK(program.steps().source != StepSource::kNvtx);
  CHECK(program.steps("XlaCompile:#module=jit_step#").steps.size() == 8);  // asked for by name
}

TEST_CASE("what NCCL marks is no step, as much as is issued inside") {
  Program program;
  for (int i = 0; i < 8; ++i) {
    const Nanoseconds begin_ns = program.now_ns();
    program.step(kMs);
    program.step(kMs);
    program.nccl("ncclAllReduce", {begin_ns, program.now_ns() - kMs / 2});
  }
  CHECK(program.steps().source != StepSource::kNvtx);
  CHECK(program.steps("ncclAllReduce").steps.size() == 8);  // asked for by name
}

TEST_CASE("a loop of the set-up is not that of the steps") {
  Program program;
  for (int i = 0; i < 20; ++i) program.step(kMs / 5);  // a model's parameters are moved so, one by one
  // The program's own steps make no call that has a stack.
  for (int i = 0; i < 20; ++i) {
    for (std::uint32_t name = 50; name < 90; ++name) program.other_work(name);
    program.wait(kMs);
  }
  const Steps steps = program.steps();
  CHECK(step_source_name(steps.source) == "periodicity");
  CHECK(figures_of(steps).p50_ns > kMs);
}

TEST_CASE("ranges that are steps win, a profiler's own before all others") {
  Program program;
  for (int i = 0; i < 10; ++i) {
    const Nanoseconds begin_ns = program.now_ns();
    program.step(3 * kMs);
    program.range("forward", {begin_ns + 10, begin_ns + kMs});
    program.range("step " + std::to_string(i), {begin_ns, begin_ns + 2 * kMs});
    if (i > 2) program.range("ProfilerStep#" + std::to_string(i), {begin_ns - 10, begin_ns + 2 * kMs + 10});
  }
  CHECK(step_source_name(program.steps().source) == "profiler-step");
  CHECK(program.steps().steps.size() == 7);
  CHECK(program.steps("step 7").steps.size() == 10);
  CHECK(step_source_name(program.steps("no such range").source) == "none");
}

TEST_CASE("ranges that hold nearly all of the work are steps, however long the program took to get there") {
  Program program;
  for (int i = 0; i < 4; ++i) {
    program.other_work(90);
    program.wait(200 * kMs);
  }
  for (int i = 0; i < 20; ++i) {
    const Nanoseconds begin_ns = program.now_ns();
    program.step(2 * kMs);
    program.range("step", {begin_ns, begin_ns + kMs});
  }
  const Steps steps = program.steps();
  CHECK(step_source_name(steps.source) == "nvtx");
  CHECK(steps.steps.size() == 20);
}

TEST_CASE("ranges with little more than half of the work are steps only if they take half of the time") {
  for (const Nanoseconds apart_ns : {kMs / 2, kMs}) {
    CAPTURE(apart_ns);
    Program program;
    for (std::uint32_t name = 100; name < 170; ++name) {
      program.other_work(name);
      program.wait(apart_ns);
    }
    for (int i = 0; i < 20; ++i) {
      const Nanoseconds begin_ns = program.now_ns();
      program.step(2 * kMs);
      program.range("part", {begin_ns, begin_ns + kMs});
    }
    CHECK((step_source_name(program.steps().source) == "nvtx") == (apart_ns < kMs));
  }
}

TEST_CASE("a step lasts until the next range, unless more than twice its work is issued between them") {
  const std::uint32_t more = GENERATE(8U, 15U);  // the step has five kernels
  CAPTURE(more);
  Program program;
  for (int i = 0; i < 20; ++i) {
    const Nanoseconds begin_ns = program.now_ns();
    program.step(kMs);
    program.range("train", {begin_ns, program.now_ns()});
    program.wait(1'000);
    for (std::uint32_t k = 0; k < more && i == 9; ++k) program.other_work(50 + k);
  }
  const std::vector<Step> steps = program.steps("train").steps;
  REQUIRE(steps.size() == 20);
  CHECK((steps[9].host.end_ns == steps[10].host.begin_ns) == (more == 8));
}

TEST_CASE("of nested ranges the outermost is the step") {
  Program program;
  for (int i = 0; i < 10; ++i) {
    const Nanoseconds begin_ns = program.now_ns();
    program.step(3 * kMs);
    program.range("forward", {begin_ns + 10, begin_ns + kMs});
    program.range("step", {begin_ns, begin_ns + 2 * kMs});
  }
  const Steps steps = program.steps();
  CHECK(step_source_name(steps.source) == "nvtx");
  CHECK(steps.name == "step");
  // The time between two ranges belongs to the first: it is what one has to wait for.
  CHECK(steps.steps[3].host.length_ns() == 3 * kMs);
}

TEST_CASE("without stacks and ranges the period of the work tells, and not that of a layer") {
  Trace trace;
  trace.contexts[ContextId{1}] = {DeviceId{0}, StreamId{7}};
  Nanoseconds now_ns = kMs;
  std::uint32_t next = 1;
  const auto kernel = [&](std::uint32_t name) {
    Operation operation;
    operation.span = {now_ns, now_ns + 1'000};
    operation.context = ContextId{1};
    operation.stream = StreamId{7};
    operation.name = StringId{name};
    trace.operations.push_back(operation);
    now_ns += 2'000;
    ++next;
  };
  for (int step = 0; step < 12; ++step) {
    kernel(100);  // embedding
    for (int layer = 0; layer < 8; ++layer) {
      for (const std::uint32_t name : {1U, 2U, 3U}) kernel(name);
    }
    kernel(101);  // loss
    kernel(102);  // optimizer
  }
  const Correlation correlation(trace);
  const Steps steps = find_steps(trace, correlation).chosen;
  CHECK(step_source_name(steps.source) == "periodicity");
  CHECK(steps.steps.size() == 12);
  CHECK(steps.steps[4].host.length_ns() == 27 * 2'000);
}

TEST_CASE("work that never repeats has no steps") {
  Program program;
  for (std::uint32_t i = 0; i < 40; ++i) program.other_work(50 + i);
  CHECK(program.steps().source == StepSource::kNone);
  CHECK(figures_of(program.steps()).count == 0);
}

TEST_CASE("stretches of unlike work are no steps, though nearly all before them repeats") {
  Program program;
  for (int i = 0; i < 2'000; ++i) program.other_work(50);
  for (std::uint32_t i = 0; i < 7 * 10; ++i) program.other_work(i % 10 == 0 ? 51 : 100 + i);
  CHECK(program.steps().source == StepSource::kNone);
}

TEST_CASE("leading slow steps are the warm-up, a late slow one is irregular") {
  Program program;
  const auto annotated = [&](Nanoseconds length_ns) {
    const Nanoseconds begin_ns = program.now_ns();
    program.step(length_ns);
    program.range("step", {begin_ns, begin_ns + kMs / 2});
  };
  program.module_load();
  annotated(50 * kMs);
  for (int i = 0; i < 40; ++i) annotated((i == 30 ? 9 : 2) * kMs + i % 3 * 1'000);
  const Steps steps = program.steps();
  CHECK(steps.steps.front().kind == StepKind::kWarmUp);
  const StepFigures figures = figures_of(steps);
  CHECK(figures.irregular == 1);
  CHECK(figures.warm_up < 25);
  CHECK(figures.p50_ns >= 2 * kMs);
  CHECK(figures.p50_ns <= 2 * kMs + 3'000);
  CHECK(figures.p99_ns <= 9 * kMs + 3'000);
}

}  // namespace synctrace::testing::steps_test
