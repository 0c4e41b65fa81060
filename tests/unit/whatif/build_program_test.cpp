// SPDX-License-Identifier: Apache-2.0
// What single calls become in a program: transfers of one copy, queries of a stream, a stream that waits for another.
// An unchanged replay gives the recorded times whatever they become, so only their weights and fixes tell.
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "replay_scene.h"
#include "support/catch.h"
#include "support/replay_support.h"
#include "whatif/replay.h"

namespace synctrace::testing {
namespace {

template <class Event>
Event the_only(const ReplayProgram& program) {
  std::vector<Event> found;
  for (const ReplayEvent& head : program.events) {
    program.events.visit(head, [&](const auto& event) {
      if constexpr (std::is_same_v<decltype(event), const Event&>) found.push_back(event);
    });
  }
  REQUIRE(found.size() == 1);
  return found.front();
}

}  // namespace

TEST_CASE("from pinned memory each transfer of a copy is shorter") {
  constexpr std::uint64_t kBytes = 12'600'000;  // one ms from pinned memory, on a link of which nothing is known
  ReplayScene scene;
  Call& call = scene.call(ApiCategory::kCopy, "cudaMemcpy", {kMs, 22 * kMs});
  call.copy_kind = CopyKind::kHostToDevice;
  call.bytes = 2 * kBytes;
  call.correlation = CorrelationId{1};
  for (const TimeSpan span : {TimeSpan{kMs + 10 * kUs, 11 * kMs}, TimeSpan{11 * kMs + 10 * kUs, 21 * kMs}}) {
    Operation& copy = scene.work(span, CorrelationId{1});
    copy.kind = OperationKind::kCopy;
    copy.copy_kind = CopyKind::kHostToDevice;
    copy.source_memory = MemoryKind::kPageable;
    copy.bytes = kBytes;
  }
  const ReplayProgram program = scene.program();
  REQUIRE(program.sites.size() == 2);
  REQUIRE(program.sites[1].fix == Fix::kAsyncCopy);
  const ReplayState state = fixed_in_lane_1(program);
  CHECK(state.latest.at[0] == 21 * kMs);
  CHECK(state.latest.at[1] > 3 * kMs);
  CHECK(state.latest.at[1] < 3 * kMs + kMs / 10);
}

// The thread sat in the call for 3 ms before the copy began: stopped, but for up to 1 ms in which it may have moved the
// first bytes of pageable memory.
TEST_CASE("a copy that began late inside of its call does not let the host run ahead of it") {
  for (const bool uploads : {true, false}) {
    CAPTURE(uploads);
    ReplayScene scene;
    Call& call = scene.call(ApiCategory::kCopyAsync, "cudaMemcpyAsync", {kMs, 4 * kMs + 20 * kUs});
    call.copy_kind = uploads ? CopyKind::kHostToDevice : CopyKind::kDeviceToHost;
    (uploads ? call.source_memory : call.target_memory) = MemoryKind::kPageable;
    call.bytes = 4;
    call.correlation = CorrelationId{1};
    Operation& copy = scene.work({4 * kMs, 4 * kMs + 10 * kUs}, CorrelationId{1});
    copy.kind = OperationKind::kCopy;
    copy.copy_kind = call.copy_kind;
    copy.source_memory = call.source_memory;
    copy.bytes = call.bytes;
    scene.launch({5 * kMs, 5 * kMs + 5 * kUs}, {5 * kMs + 10 * kUs, 6 * kMs});
    const ReplayProgram program = scene.program();
    const CopyEvent event = the_only<CopyEvent>(program);
    REQUIRE(event.held);
    REQUIRE(event.delay > 2'900 * kUs);
    REQUIRE(program.sites[1].fix == (uploads ? Fix::kAsyncCopy : Fix::kDeferRead));
    const ReplayState state = fixed_in_lane_1(program);
    CHECK(state.latest.at[0] == 6 * kMs);
    // The kernel starts as soon after its launch as before: pinned, 1 ms earlier.
    CHECK(state.latest.at[1] - state.host[0].at[1] == kMs - 5 * kUs);
    CHECK((state.host[0].at[1] < 4 * kMs + 100 * kUs) == uploads);
    CHECK((state.host[0].at[1] > 4'900 * kUs) == !uploads);
  }
}

TEST_CASE("queries of a stream wait for its work, from the first of them on") {
  const Nanoseconds after_ns = GENERATE(3 * kUs, 25 * kUs);  // usual, and late
  ReplayScene scene;
  scene.launch({kMs, kMs + 5 * kUs}, {kMs + 10 * kUs, 5 * kMs});
  scene.poll({2 * kMs, 5 * kMs + after_ns}, 0x77);  // the stream's handle, of which nothing else tells
  const ReplayProgram program = scene.program();
  const WaitEvent wait = the_only<WaitEvent>(program);
  CHECK(wait.wait_for == WaitFor::kStream);
  CHECK(the_only<HostEvent>(program).pre == kMs - 5 * kUs);  // before them
  CHECK(wait.ret == after_ns);
}

TEST_CASE("queries of an event that end a little before its work still wait for it, as clocks differ") {
  ReplayScene scene;
  scene.launch({kMs, kMs + 5 * kUs}, {kMs + 10 * kUs, 5 * kMs});
  scene.call(ApiCategory::kStreamEvent, "cudaEventRecord", {kMs + 6 * kUs, kMs + 8 * kUs}).object = 0xe0;
  scene.poll({2 * kMs, 5 * kMs - kUs}, 0xe0);
  const ReplayProgram program = scene.program();
  const WaitEvent wait = the_only<WaitEvent>(program);
  CHECK(wait.wait_for == WaitFor::kSlot);
  CHECK(wait.ret == -kUs);
}

TEST_CASE("a copy that returns before it is begun waits for the work before it") {
  ReplayScene scene;
  scene.launch({kMs, kMs + 5 * kUs}, {kMs + 10 * kUs, 5 * kMs});
  Call& call = scene.call(ApiCategory::kCopyAsync, "cudaMemcpyAsync", {2 * kMs, 5 * kMs + 3 * kUs});
  call.copy_kind = CopyKind::kHostToDevice;
  call.source_memory = MemoryKind::kPageable;
  call.bytes = 1'000'000;
  call.correlation = CorrelationId{1};
  Operation& copy = scene.work({5 * kMs + 10 * kUs, 7 * kMs}, CorrelationId{1});
  copy.kind = OperationKind::kCopy;
  copy.copy_kind = CopyKind::kHostToDevice;
  copy.source_memory = MemoryKind::kPageable;
  copy.bytes = call.bytes;
  const ReplayProgram program = scene.program();
  const CopyEvent event = the_only<CopyEvent>(program);
  CHECK(event.wait_for == WaitFor::kStream);
  CHECK(event.ret == 3 * kUs);
}

TEST_CASE("work behind a wait for an event follows the work before its record") {
  ReplayScene scene;
  scene.launch({kMs, kMs + 5 * kUs}, {kMs + 10 * kUs, 5 * kMs});
  scene.call(ApiCategory::kStreamEvent, "cudaEventRecord", {kMs + 6 * kUs, kMs + 8 * kUs}).object = 0xe0;
  scene.call(ApiCategory::kStreamEvent, "cudaStreamWaitEvent", {kMs + 9 * kUs, kMs + 11 * kUs}, kOther).object = 0xe0;
  scene.launch({kMs + 12 * kUs, kMs + 15 * kUs}, {5 * kMs + 4 * kUs, 6 * kMs}, kOther);
  const ReplayProgram program = scene.program();
  CHECK(program.unexplained == 0);
  const WorkWeights* last = nullptr;
  for (const ReplayEvent& head : program.events) {
    if (const WorkWeights* work = program.events.work(head)) last = work;
  }
  REQUIRE(last != nullptr);
  CHECK(last->handover == 4 * kUs);
  CHECK(last->delay == 0);
}

TEST_CASE("what a stream takes to follow another one is told by work that was issued in time") {
  ReplayScene scene;
  for (int i = 0; i < 20; ++i) {
    const bool late = i >= 6;
    const Nanoseconds begin_ns = (i + 1) * kMs;
    const Nanoseconds freed_ns = begin_ns + 500 * kUs;
    const Nanoseconds issued_ns = late ? freed_ns + 5 * kUs : begin_ns + 12 * kUs;
    const Nanoseconds start_ns = freed_ns + (late ? 15 : 4) * kUs;
    scene.launch({begin_ns, begin_ns + 5 * kUs}, {begin_ns + 10 * kUs, freed_ns});
    scene.call(ApiCategory::kStreamEvent, "cudaEventRecord", {begin_ns + 6 * kUs, begin_ns + 8 * kUs}).object = 0xe0;
    scene.call(ApiCategory::kStreamEvent, "cudaStreamWaitEvent", {begin_ns + 9 * kUs, begin_ns + 11 * kUs}, kOther)
        .object = 0xe0;
    scene.launch({issued_ns, issued_ns + 3 * kUs}, {start_ns, start_ns + 100 * kUs}, kOther);
  }
  const ReplayProgram program = scene.program();
  int handovers = 0;
  for (const ReplayEvent& head : program.events) {
    const WorkWeights* work = program.events.work(head);
    if (work == nullptr || work->handover == kNoEdge) continue;
    CHECK(work->handover == 4 * kUs);
    ++handovers;
  }
  CHECK(handovers == 20);
}

// A helper thread waits for each batch, which nobody of this process makes; the thread that launches waits for the
// helper once. That wait lasts as long as it did, however fast its own thread was: the helper's pace is that of who
// asks.
TEST_CASE("who waits for a loader's helper thread is not held to the helper's recorded pace") {
  constexpr ThreadId kHelper{101};
  constexpr StackId kInLoader{6};
  for (const bool helper_loads : {true, false}) {
    CAPTURE(helper_loads);
    ReplayScene scene;
    Trace& trace = scene.trace();
    trace.codes[1] = Code{"/lib/torch/utils/data/_utils/pin_memory.py", "f", "", 1, 0x030c0000};
    StackFrame frame;
    frame.code = 1;
    trace.stacks[kInLoader] = {frame};
    const auto sleep = [&](ThreadId thread, TimeSpan span, StackId stack) -> HostWait& {
      HostWait& wait = trace.host_waits.emplace_back();
      wait.thread = thread;
      wait.span = span;
      wait.call = HostCall::kPoll;
      wait.stack = stack;
      return wait;
    };
    scene.launch({kMs, kMs + 5 * kUs}, {kMs + 10 * kUs, 2 * kMs});
    sleep(kHelper, {kMs, 4 * kMs}, helper_loads ? kInLoader : StackId{});
    HostWait& wait = sleep(kThread, {3 * kMs, 4 * kMs + 20 * kUs}, kInLoader);
    wait.waker = kHelper;
    wait.wake_ns = 4 * kMs + 10 * kUs;
    scene.launch({5 * kMs, 5 * kMs + 5 * kUs}, {5 * kMs + 10 * kUs, 6 * kMs});
    const ReplayProgram program = scene.program();
    int blocks = 0;
    int batches = 0;
    for (const ReplayEvent& head : program.events) {
      blocks += head.kind == EventKind::kBlock ? 1 : 0;
      batches += head.kind == EventKind::kInput ? 1 : 0;
    }
    CHECK(blocks == (helper_loads ? 0 : 1));
    CHECK(batches == (helper_loads ? 2 : 0));
  }
}

// Steps of 10 ms, each of which waits for a batch from a pipe; that of the fifth is there and only has to be read.
TEST_CASE("a loader that was the limit is held to its pace across a batch that was ready") {
  constexpr StackId kInLoader{6};
  constexpr int kReady = 5;
  ReplayScene scene;
  Trace& trace = scene.trace();
  trace.codes[1] = Code{"/lib/torch/utils/data/dataloader.py", "f", "", 1, 0x030c0000};
  StackFrame frame;
  frame.code = 1;
  trace.stacks[kInLoader] = {frame};
  trace.strings[StringId{1}] = "step";
  for (int i = 1; i <= 8; ++i) {
    const Nanoseconds begin_ns = i * 10 * kMs;
    HostWait& wait = trace.host_waits.emplace_back();
    wait.thread = kThread;
    wait.span = {begin_ns + kMs, begin_ns + kMs + (i == kReady ? kMs / 10 : 3 * kMs)};
    wait.call = HostCall::kRead;
    wait.stack = kInLoader;
    scene.launch({begin_ns + 5 * kMs, begin_ns + 5 * kMs + 5 * kUs},
                 {begin_ns + 5 * kMs + 10 * kUs, begin_ns + 8 * kMs});
    trace.nvtx_events.push_back({begin_ns, kThread, {}, StringId{1}, 0, NvtxEvent::What::kPush});
    trace.nvtx_events.push_back({begin_ns + 9 * kMs, kThread, {}, StringId{1}, 0, NvtxEvent::What::kPop});
  }
  const ReplayProgram program = scene.program();
  REQUIRE(program.steps == 8);
  int step = 0;
  for (const ReplayEvent& head : program.events) {
    program.events.visit(head, [&](const auto& event) {
      if constexpr (std::is_same_v<decltype(event), const InputEvent&>) {
        CAPTURE(++step);
        CHECK(event.keeps_pace == (step != 1 && step != kReady));
        CHECK((event.slot == kNoSlot) == (step == kReady));
        if (event.keeps_pace) CHECK(event.ret == (step == kReady + 1 ? 20 : 10) * kMs);
      }
    });
  }
  CHECK(step == 8);
}

// A thread that was stopped inside of a launch would have been stopped as long with a graph.
TEST_CASE("a launch that came late out of its call does not let a graph begin before it") {
  ReplayScene scene;
  Nanoseconds now_ns = kMs;
  for (int i = 0; i < 40; ++i) {
    const Nanoseconds held_ns = i == 20 ? 3 * kMs : 0;
    scene.launch({now_ns, now_ns + held_ns + 5 * kUs}, {now_ns + held_ns + 4 * kUs, now_ns + held_ns + 5 * kUs});
    scene.trace().launches.back().stack = StackId{5};
    now_ns += held_ns + 10 * kUs;
  }
  const ReplayProgram program = scene.program();
  REQUIRE(program.sites.size() == 2);
  REQUIRE(program.sites[1].fix == Fix::kGraph);
  const ReplayState state = fixed_in_lane_1(program);
  CHECK(state.latest.at[1] < state.latest.at[0] - 100 * kUs);
  CHECK(state.latest.at[1] > 3 * kMs);
}

// Two runs of launches of one line, with host time of that line between them.
TEST_CASE("a graph takes the short host times of its line with it, not the program's own work") {
  for (const Nanoseconds between_ns : {100 * kUs, kMs}) {
    CAPTURE(between_ns);
    ReplayScene scene;
    Nanoseconds now_ns = kMs;
    for (int i = 0; i < 20; ++i) {
      if (i == 10) now_ns += between_ns;
      scene.launch({now_ns, now_ns + 5 * kUs}, {now_ns + 7 * kUs, now_ns + 8 * kUs});
      scene.trace().launches.back().stack = StackId{5};
      now_ns += 10 * kUs;
    }
    const ReplayProgram program = scene.program();
    Nanoseconds in_graph_ns = 0;
    Nanoseconds elsewhere_ns = 0;
    for (const ReplayEvent& head : program.events) {
      program.events.visit(head, [&](const auto& event) {
        if constexpr (std::is_same_v<decltype(event), const HostEvent&>)
          (program.sites[head.site].fix == Fix::kGraph ? in_graph_ns : elsewhere_ns) += event.pre;
      });
    }
    CHECK(in_graph_ns + elsewhere_ns > between_ns);
    CHECK((in_graph_ns > between_ns) == (between_ns < kMs));
    CHECK((elsewhere_ns >= between_ns) == (between_ns == kMs));
  }
}

// Examples are a graph that was launched before a window opened, and a copy whose call was under way when it closed. By
// the clock they would stay where they are when the host code in front of the window takes less time.
TEST_CASE("work without a call keeps to the thread that issues to its stream") {
  ReplayScene scene;
  scene.call(ApiCategory::kAlloc, "cudaMalloc", {kMs, 2 * kMs});
  scene.work({20 * kMs, 21 * kMs}, CorrelationId{1});
  scene.work({20 * kMs, 21 * kMs}, CorrelationId{2}, kOther);
  scene.launch({20 * kMs + 500 * kUs, 20 * kMs + 505 * kUs}, {21 * kMs + kUs, 22 * kMs});
  scene.work({23 * kMs, 24 * kMs}, CorrelationId{3});
  const ReplayProgram program = scene.program();
  std::vector<std::uint32_t> threads;
  std::uint32_t launching = ~0U;
  for (const ReplayEvent& head : program.events) {
    if (head.kind == EventKind::kMoreWork) threads.push_back(head.thread);
    if (head.kind == EventKind::kLaunch) launching = head.thread;
  }
  CHECK(threads.size() == 3);
  CHECK(std::count(threads.begin(), threads.end(), launching) == 2);
  CHECK(replay_difference(attribute(scene.trace())).empty());
}

// Each step takes memory of a pool for half a millisecond, computes for one, and waits for four more, in which the pool
// gives its memory back. One that keeps it saves all of both.
TEST_CASE("a wait that returns late behind a slow call for a pool's memory is the pool's") {
  const bool is_slow = GENERATE(true, false);
  CAPTURE(is_slow);
  ReplayScene scene;
  for (int i = 0; i < 12; ++i) {
    const Nanoseconds begin_ns = (1 + 8 * i) * kMs;
    const Nanoseconds taken_ns = begin_ns + (is_slow ? 500 * kUs : 2 * kUs);
    scene.call(ApiCategory::kPoolAlloc, "cudaMallocAsync", {begin_ns, taken_ns}).stack = StackId{6};
    scene.launch({taken_ns, taken_ns + 5 * kUs}, {taken_ns + 7 * kUs, taken_ns + kMs});
    scene.call(ApiCategory::kStreamSync, "cudaStreamSynchronize", {taken_ns + 10 * kUs, taken_ns + 5 * kMs});
  }
  Nanoseconds pools_ns = 0;
  const ReplayProgram program = scene.program();
  for (const ReplayEvent& head : program.events) {
    if (program.sites[head.site].fix != Fix::kCacheMemory) continue;
    program.events.visit(head, [&](const auto& event) {
      if constexpr (requires { event.own; }) pools_ns += event.own;
    });
  }
  CHECK((pools_ns > 12 * 4 * kMs) == is_slow);
  CHECK(replay_difference(attribute(scene.trace())).empty());
}

}  // namespace synctrace::testing
