// SPDX-License-Identifier: Apache-2.0
// Which host time lies between two graphs of one model that torch.compile could not keep in one.
#include "attribution/graph_breaks.h"

#include <string>
#include <vector>

#include "support/catch.h"

namespace synctrace::testing::graph_breaks_test {
namespace {

constexpr Nanoseconds kUs = 1'000;
constexpr ThreadId kMain{1};
constexpr ThreadId kEngine{2};  // autograd's
constexpr std::string_view kPackages = "/usr/lib/python3/site-packages";

enum Function : std::uint32_t {
  kWrapper = 1,  // OptimizedModule's
  kNet,          // Net.forward
  kBlock,        // Block.forward, called by Net.forward
  kResumed,      // its rest behind a break
  kGraph,        // generated code
  kBackwardGraph,
  kRunBackward,
  kMainLoop,
  kCompiler,
};

// A program whose calls are 100 us apart, 10 us each.
class Program {
 public:
  Program() {
    const std::string torch = std::string(kPackages) + "/torch";
    const auto add = [&](Function id, std::string file, std::string name, bool resumed = false) {
      trace_.codes[id] = Code{std::move(file), std::move(name), "", 1, 0x030c0000, resumed};
    };
    add(kWrapper, torch + "/_dynamo/eval_frame.py", "_TorchDynamoContext.__call__.<locals>.compile_wrapper");
    add(kNet, "/home/ada/train.py", "Net.forward");
    add(kBlock, "/home/ada/train.py", "Block.forward");
    add(kResumed, "/home/ada/train.py", "Block.forward", true);
    add(kGraph, "/tmp/torchinductor_ada/ab/cab.py", "Runner.call");
    add(kBackwardGraph, "/tmp/torchinductor_ada/cd/ccd.py", "Runner.call");
    add(kRunBackward, torch + "/_functorch/_aot_autograd/runtime_wrappers.py",
        "AOTDispatchAutograd.post_compile.<locals>.CompiledFunction.backward");
    add(kMainLoop, "/home/ada/train.py", "main");
    add(kCompiler, torch + "/_dynamo/convert_frame.py", "_compile");
  }

  // Innermost function first. The first launch of generated code has the lower offset.
  std::uint32_t launch(ThreadId thread, const std::vector<Function>& functions, std::int32_t offset_bytes = 0) {
    Launch launch;
    launch.span = {now_ns_, now_ns_ + 10 * kUs};
    launch.thread = thread;
    launch.stack = stack(functions, offset_bytes);
    trace_.launches.push_back(launch);
    now_ns_ += 110 * kUs;
    return static_cast<std::uint32_t>(trace_.launches.size() - 1);
  }

  std::uint32_t wait(const std::vector<Function>& functions) {
    Call call;
    call.span = {now_ns_, now_ns_ + 10 * kUs};
    call.thread = kMain;
    call.category = ApiCategory::kStreamSync;
    call.stack = stack(functions, 0);
    trace_.calls.push_back(call);
    now_ns_ += 110 * kUs;
    return static_cast<std::uint32_t>(trace_.calls.size() - 1);
  }

  // What is said of the moment 50 us before a launch.
  GraphBreaks::Answer before(std::uint32_t launch) const {
    const HostTimeline host(trace_);
    const Launch& row = trace_.launches[launch];
    return GraphBreaks(trace_, host).at(host.index_of(row.thread), row.span.begin_ns - 50 * kUs);
  }
  bool is_between(std::uint32_t launch) const { return before(launch).line.has_value(); }
  Nanoseconds begin_ns(std::uint32_t launch) const { return trace_.launches[launch].span.begin_ns; }
  Trace& trace() { return trace_; }

 private:
  StackId stack(const std::vector<Function>& functions, std::int32_t offset_bytes) {
    const auto id = StackId{static_cast<std::uint32_t>(trace_.stacks.size() + 1)};
    for (const Function function : functions) {
      StackFrame frame;
      frame.code = function;
      if (function == kGraph || function == kBackwardGraph) frame.offset_bytes = offset_bytes;
      trace_.stacks[id].push_back(frame);
    }
    return id;
  }

  Trace trace_;
  Nanoseconds now_ns_ = 1'000 * kUs;
};

const std::vector<Function> kWhole = {kGraph, kNet, kWrapper, kMainLoop};
const std::vector<Function> kFirstPart = {kGraph, kBlock, kNet, kWrapper, kMainLoop};
const std::vector<Function> kSecondPart = {kGraph, kResumed, kBlock, kNet, kWrapper, kMainLoop};
const std::vector<Function> kBackward = {kBackwardGraph, kRunBackward};

}  // namespace

TEST_CASE("a model in one graph has no breaks, however often it is called") {
  Program program;
  std::vector<std::uint32_t> launches;
  for (int step = 0; step < 3; ++step) {
    for (const std::int32_t offset : {10, 20}) launches.push_back(program.launch(kMain, kWhole, offset));
    for (const std::int32_t offset : {10, 20}) launches.push_back(program.launch(kEngine, kBackward, offset));
    launches.push_back(program.launch(kMain, {kMainLoop}));
  }
  for (const std::uint32_t each : launches) CHECK_FALSE(program.is_between(each));
}

TEST_CASE("blocks that are compiled one by one are no breaks") {
  Program program;
  program.launch(kMain, {kGraph, kBlock, kWrapper, kNet, kMainLoop}, 10);
  CHECK_FALSE(program.is_between(program.launch(kMain, {kGraph, kBlock, kWrapper, kNet, kMainLoop}, 10)));
}

TEST_CASE("host time before each further graph of a pass is the break's, but for the graph's own launch") {
  Program program;
  const std::uint32_t first = program.launch(kMain, kFirstPart, 10);
  const std::uint32_t inside = program.launch(kMain, kFirstPart, 20);
  const std::uint32_t second = program.launch(kMain, kSecondPart, 10);
  program.launch(kMain, {kMainLoop});
  const std::uint32_t back = program.launch(kEngine, kBackward, 10);
  const std::uint32_t more = program.launch(kEngine, kBackward, 10);
  const std::uint32_t too_many = program.launch(kEngine, kBackward, 10);
  const std::uint32_t next = program.launch(kMain, kFirstPart, 10);
  CHECK_FALSE(program.is_between(first));
  CHECK_FALSE(program.is_between(inside));
  const GraphBreaks::Answer answer = program.before(second);
  REQUIRE(answer.line);
  CHECK(*answer.line == Owner{second, OwnerTable::kLaunch});
  CHECK(answer.begin_ns == program.begin_ns(inside) + 10 * kUs);
  CHECK_FALSE(program.is_between(back));
  CHECK(program.is_between(more));
  CHECK(program.before(more).line == Owner{second, OwnerTable::kLaunch});
  CHECK_FALSE(program.is_between(too_many));  // forward had one break
  CHECK_FALSE(program.is_between(next));      // another pass

  const HostTimeline host(program.trace());
  const GraphBreaks breaks(program.trace(), host);
  const Nanoseconds begin_ns = program.begin_ns(second);
  CHECK_FALSE(breaks.at(host.index_of(kMain), begin_ns).line);
  CHECK(breaks.at(host.index_of(kMain), begin_ns).begin_ns == begin_ns - 15 * kUs);
}

TEST_CASE("a wait inside of the compiled model and outside of its graphs is the line that breaks it") {
  Program program;
  program.wait({kBlock, kNet, kCompiler, kWrapper, kMainLoop});  // while it compiled
  program.launch(kMain, kFirstPart, 10);
  const std::uint32_t wait = program.wait({kBlock, kNet, kWrapper, kMainLoop});
  const std::uint32_t next = program.launch(kMain, kFirstPart, 10);
  CHECK(program.before(next).line == Owner{wait, OwnerTable::kCall});
}

TEST_CASE("without the names of generated code, or without stacks, nothing is a break") {
  Program program;
  program.launch(kMain, kFirstPart, 10);
  const std::uint32_t next = program.launch(kMain, kFirstPart, 10);
  CHECK(program.is_between(next));
  program.trace().codes.erase(kGraph);
  CHECK_FALSE(program.is_between(next));
  program.trace().stacks.clear();
  CHECK_FALSE(program.is_between(next));
}

}  // namespace synctrace::testing::graph_breaks_test
