// SPDX-License-Identifier: Apache-2.0
// Single explanations that the generated programs do not reach: work behind host functions, launches of a thread that
// works for another, traces that lost records, the edges of windows.
#include <string>

#include "support/catch.h"
#include "walk_scene.h"

namespace synctrace::testing {

TEST_CASE("work behind a function of the host waited for that") {
  Scene scene;
  scene.launch(10, {20, 100});
  scene.host_function(30);
  scene.launch(40, {500, 600});
  const std::vector<Part> parts = scene.explained({100, 500});
  REQUIRE(parts.size() == 1);
  CHECK(parts[0].kind == CauseKind::kHostFunction);
  CHECK(scene.trace().launches[parts[0].owner.row].api == kHostFunction);
}

TEST_CASE("work queued in time that starts late for no known reason is unknown, and says why") {
  Scene scene;
  scene.launch(10, {20, 100});
  scene.launch(40, {500, 600});
  const std::vector<Part> parts = scene.explained({100, 500});
  REQUIRE(parts.size() == 1);
  CHECK(parts[0].kind == CauseKind::kUnknown);
  CHECK(parts[0].reason == Reason::kLateOnDevice);
  CHECK(parts[0].confidence == Confidence::kLow);
}

TEST_CASE("launches of a library's thread stand at the line that waited for them") {
  Scene scene;
  scene.launch(10, {20, 100});
  scene.wait({50, 1'000}, kEngine);
  scene.launch(400, {410, 420}, kEngine);
  scene.launch(700, {710, 720}, kEngine);
  const std::vector<Part> parts = scene.explained({420, 700});
  REQUIRE_FALSE(parts.empty());
  for (const Part& part : parts) {
    CHECK(part.owner.table == OwnerTable::kHostWait);
    CHECK(part.thread == kEngine);
  }
}

TEST_CASE("launches of a library's thread beside a line of the program's own stand there") {
  Scene scene;
  scene.launch(10, {20, 100});
  scene.wait({50, 1'000}, kEngine);
  scene.launch(400, {410, 420}, kEngine);
  scene.trace().launches.back().stack = StackId{7};
  scene.launch(700, {710, 720}, kEngine);
  const std::vector<Part> parts = scene.explained({420, 700});
  REQUIRE_FALSE(parts.empty());
  for (const Part& part : parts) {
    CHECK(part.owner.table == OwnerTable::kStretch);
    CHECK(part.thread == kEngine);
  }
}

// One launch in some 64 has a stack. The launches without one, and the host time between them, belong to its line and
// not to that of the last call that has a stack, which may be milliseconds away.
TEST_CASE("launches without a stack stand at the line of those around them that have one") {
  Scene scene;
  scene.launch(10, {20, 30});
  scene.trace().launches.back().stack = StackId{6};
  for (Nanoseconds t = 40; t < 400; t += 30) scene.launch(t, {t + 10, t + 20});
  scene.trace().launches.back().stack = StackId{5};
  scene.launch(400, {410, 420});
  scene.trace().windows = {{{0, 10'000 * kUs}, "start"}};
  const Attribution attribution = attribute(scene.trace());
  Nanoseconds between_ns = 0;
  for (const Cause& cause : attribution.causes.at(DeviceId{0})) {
    if (cause.key.kind != CauseKind::kLaunchBound) continue;
    CHECK(number(cause.key.site.stack) != 0);
    if (cause.key.site.stack == StackId{6} && cause.key.site.until == StackId{5}) between_ns += cause.idle_ns;
  }
  CHECK(between_ns > 100 * kUs);
}

TEST_CASE(
    "a memset and a copy within a device without a stack stand between the lines around them, other copies by "
    "themselves") {
  struct Case {
    ApiCategory category;
    CopyKind copy_kind;
    OwnerTable table;
  };
  for (const Case& one : {Case{ApiCategory::kMemset, CopyKind::kUnknown, OwnerTable::kStretch},
                          Case{ApiCategory::kCopyAsync, CopyKind::kDeviceToDevice, OwnerTable::kStretch},
                          Case{ApiCategory::kCopyAsync, CopyKind::kDeviceToHost, OwnerTable::kCall}}) {
    Scene scene;
    scene.launch_at_line(10, {20, 100});
    scene.call(300, one.category, one.copy_kind, {320, 330});
    scene.launch_at_line(400, {420, 500});
    bool seen = false;
    for (const Part& part : scene.explained({300, 320})) {
      if (part.span.begin_ns < 300 * kUs) continue;
      CHECK(part.owner.table == one.table);
      seen = true;
    }
    CHECK(seen);
  }
}

// PyTorch's loader has a thread that reads the batches of its workers, pins them, and wakes the thread that asked for
// one. That thread then waits for the interpreter's lock, which the loader's thread held.
TEST_CASE("a starved loader shows at the line that asks for the batch, not in the loader's own thread") {
  constexpr ThreadId kPinning{103};
  Scene scene;
  scene.launch(10, {20, 100});
  scene.sleep(kPinning, {200, 900}, {}, 0, StackId{6});
  scene.trace().host_waits.back().call = HostCall::kRead;
  scene.sleep(kMain, {150, 910}, kPinning, 905, StackId{5});
  scene.sleep(kMain, {911, 990}, kPinning, 985, StackId{7});
  scene.launch(1'000, {1'010, 1'100});
  scene.trace().stacks[StackId{7}] = scene.trace().stacks[StackId{5}];
  Nanoseconds input_ns = 0;
  for (const Part& part : scene.explained({100, 1'010})) {
    if (part.kind != CauseKind::kInput) continue;
    REQUIRE(part.owner.table == OwnerTable::kHostWait);
    CHECK(scene.trace().host_waits[part.owner.row].thread == kMain);
    CHECK(scene.trace().host_waits[part.owner.row].stack == StackId{5});
    input_ns += part.span.length_ns();
  }
  CHECK(input_ns == 700 * kUs);
}

TEST_CASE("where records were lost nothing is sure") {
  Scene scene;
  scene.launch(10, {20, 100});
  scene.launch(300, {310, 400});
  scene.lose_records();
  for (const Part& part : scene.explained({0, 10'000})) CHECK(part.confidence == Confidence::kLow);
}

// Two kernels of one launch, behind which records were lost until a wait that is there.
TEST_CASE("what was launched before records were lost is explained with low confidence") {
  for (const bool lost : {false, true}) {
    Scene scene;
    scene.launch(10, {20, 500});
    scene.trace().operations.back().stream = StreamId{8};
    scene.launch(30, {40, 1'000});
    Operation second = scene.trace().operations.back();
    second.span = {1'100 * kUs, 1'200 * kUs};
    scene.trace().operations.push_back(second);
    Call& wait = scene.trace().calls.emplace_back();
    wait.span = {110 * kUs, 505 * kUs};
    wait.thread = kMain;
    wait.context = ContextId{1};
    wait.stream = StreamId{8};
    wait.category = ApiCategory::kStreamSync;
    if (lost) scene.trace().lossy = {{50 * kUs, 100 * kUs}};
    const std::vector<Part> parts = scene.explained({1'000, 1'100});
    REQUIRE(parts.size() == 1);
    CHECK(parts[0].kind == CauseKind::kDispatch);
    CHECK(parts[0].confidence == (lost ? Confidence::kLow : Confidence::kHigh));
  }
}

TEST_CASE("work without its launch cannot be explained, and says so") {
  Scene scene;
  scene.launch(10, {20, 100});
  scene.launch(300, {310, 400});
  scene.trace().launches.pop_back();
  const std::vector<Part> parts = scene.explained({100, 310});
  REQUIRE(parts.size() == 1);
  CHECK(parts[0].kind == CauseKind::kCapture);
  CHECK(parts[0].reason == Reason::kNoLaunch);
}

TEST_CASE("time before the first work and after the last is no gap of the program") {
  Scene scene;
  scene.launch(10, {20, 100});
  const std::vector<Part> parts = scene.explained({0, 10'000});
  REQUIRE(parts.size() == 2);
  CHECK(parts[0].kind == CauseKind::kStartup);
  CHECK(parts[1].kind == CauseKind::kShutdown);
}

// In JAX a driver's thread runs the host function behind a step and wakes a library's thread, which wakes Python.
TEST_CASE("a wait for the GPU that is handed on by a library's thread is a wait of the line that slept meanwhile") {
  constexpr ThreadId kLibrary{102};
  constexpr ThreadId kDriver{900};  // has no records
  const auto steps = [](Scene& scene, StackId library_stack) {
    for (Nanoseconds t = 0; t < 8'000; t += 1'000) {
      scene.launch(t + 10, {t + 20, t + 320});
      scene.host_function(t + 16);
      scene.sleep(kLibrary, {t + 30, t + 430}, kDriver, t + 390, library_stack);
      scene.sleep(kMain, {t + 50, t + 480}, kLibrary, t + 440, StackId{5});
    }
  };
  Scene relayed;
  steps(relayed, {});
  Nanoseconds charged_ns = 0;
  for (const Part& part : relayed.explained({3'320, 4'020})) {
    if (part.kind != CauseKind::kFrameworkWait) continue;
    CHECK(relayed.trace().host_waits[part.owner.row].thread == kMain);
    charged_ns += part.span.length_ns();
  }
  CHECK(charged_ns >= 400 * kUs);  // the sleep and what it delayed, of 700 us

  // A thread with Python lines of its own explains itself.
  Scene own;
  steps(own, StackId{5});
  bool seen = false;
  for (const Part& part : own.explained({3'320, 3'430})) {
    if (part.kind != CauseKind::kFrameworkWait) continue;
    seen = true;
    CHECK(own.trace().host_waits[part.owner.row].thread == kLibrary);
  }
  CHECK(seen);
}

TEST_CASE("one sample is a hint, three that agree about a line are evidence") {
  for (const int samples : {1, 3}) {
    Scene scene;
    for (int i = 0; i < samples; ++i) scene.sample(500 + i, format::Sample::State::kRunning);
    scene.launch(10, {20, 30});
    scene.launch(1'010, {1'020, 1'030});
    bool seen = false;
    for (const Part& part : scene.explained({30, 1'020})) {
      if (part.kind != CauseKind::kLoaderCompute) continue;
      seen = true;
      CHECK(part.confidence == (samples == 1 ? Confidence::kLow : Confidence::kMedium));
    }
    CHECK(seen);
  }
}

// Launches of one line, a millisecond apart, and samples of `stack` in some of the gaps: what is a gap without one?
static Part third_gap(std::initializer_list<Nanoseconds> sampled_gaps, StackId stack) {
  Scene scene;
  for (Nanoseconds i = 0; i < 8; ++i) scene.launch_at_line(i * 1'000, {i * 1'000 + 20, i * 1'000 + 30});
  for (const Nanoseconds gap : sampled_gaps) scene.sample(gap * 1'000 + 500, format::Sample::State::kRunning, stack);
  const std::vector<Part> parts = scene.explained({2'100, 2'900});
  REQUIRE(parts.size() == 1);
  return parts.front();
}

TEST_CASE("host time that no sample met is where three found the thread between the same two lines") {
  constexpr StackId kPrepare{7};
  CHECK(third_gap({0, 1, 4}, kPrepare).owner.table == OwnerTable::kSample);
  CHECK(third_gap({0, 1, 4}, kPrepare).kind == CauseKind::kHostCompute);
  CHECK(third_gap({0, 4}, kPrepare).owner.table == OwnerTable::kStretch);
  CHECK(third_gap({}, kPrepare).owner.table == OwnerTable::kStretch);
}

// Times of 20 ms before launches in files that are nowhere else, behind launches of one line; samples in three of them,
// of `prepare`, and of `other` in one of these. The last one has none, and takes `length_us`.
static Part time_behind_a_line(Nanoseconds length_us, bool others_agree = true) {
  Scene scene;
  Nanoseconds now_us = 0;
  for (std::uint32_t i = 0; i < 4; ++i) {
    scene.launch_at_line(now_us, {now_us + 20, now_us + 30});
    const bool is_last = i == 3;
    const Nanoseconds end_us = now_us + (is_last ? length_us : 20'000);
    if (!is_last) {
      scene.sample(now_us + 5'000, format::Sample::State::kRunning, StackId{7});
      if (i == 0 && !others_agree) scene.sample(now_us + 15'000, format::Sample::State::kRunning, StackId{6});
    }
    const StackId own{20 + i};
    scene.trace().codes[20 + i] = Code{"/home/user/part" + std::to_string(i) + ".py", "forward", "", 60, 0x030c0000};
    scene.trace().stacks[own] = {Scene::frame(20 + i)};
    scene.launch(end_us, {end_us + 20, end_us + 30});
    scene.trace().launches.back().stack = own;
    if (is_last) {
      const std::vector<Part> parts = scene.explained({now_us + 100, end_us - 100}, {0, 200'000});
      REQUIRE(parts.size() == 1);
      return parts.front();
    }
    now_us = end_us + 1'000;
  }
  return {};
}

TEST_CASE("long host time that no sample met is where samples found the thread behind the same line") {
  CHECK(time_behind_a_line(20'000).owner.table == OwnerTable::kSample);
  CHECK(time_behind_a_line(39'000).owner.table == OwnerTable::kSample);
  CHECK(time_behind_a_line(41'000).owner.table == OwnerTable::kStretch);  // not about as long
  CHECK(time_behind_a_line(9'900).owner.table == OwnerTable::kStretch);   // too short to be missed
  CHECK(time_behind_a_line(20'000, false).owner.table == OwnerTable::kStretch);
}

TEST_CASE("host time that no sample met is the loader's where the others lie in a loader") {
  constexpr StackId kInLoader{6};
  CHECK(third_gap({0, 1, 4}, kInLoader).kind == CauseKind::kLoaderCompute);
  CHECK(third_gap({0, 4}, kInLoader).kind == CauseKind::kHostCompute);
}

TEST_CASE("a sample whose stack was not read says what the nearest one of the same time says") {
  using State = format::Sample::State;
  Scene scene;
  scene.launch(10, {20, 30});
  scene.launch(5'010, {5'020, 5'030});
  scene.sample(1'000, State::kRunning, {});
  scene.sample(2'000, State::kRunning, StackId{7});
  scene.sample(3'000, State::kRunning, {});
  scene.sample(4'000, State::kBlocked, {});  // a sleep is no code
  const std::vector<Part> parts = scene.explained({30, 3'400});
  REQUIRE_FALSE(parts.empty());
  for (const Part& part : parts) CHECK(part.owner == Owner{1, OwnerTable::kSample});
  for (const Part& part : scene.explained({3'600, 4'900})) CHECK_FALSE(part.owner == Owner{1, OwnerTable::kSample});
}

TEST_CASE("samples without a stack are the compiler's between two that are, and nobody's elsewhere") {
  using State = format::Sample::State;
  for (const bool compiles : {true, false}) {
    Scene scene;
    scene.trace().codes[4] = Code{"/site-packages/torch/_dynamo/convert_frame.py", "_compile", "", 1, 0x030c0000};
    scene.trace().stacks[StackId{8}] = {Scene::frame(4)};
    for (Nanoseconds i = 0; i < 4; ++i) scene.launch(i * 1'000, {i * 1'000 + 20, i * 1'000 + 30});
    scene.sample(500, State::kRunning, StackId{8});
    scene.sample(1'500, State::kRunning, {});
    scene.sample(2'500, State::kRunning, compiles ? StackId{8} : StackId{7});
    for (const Part& part : scene.explained({1'100, 1'900}))
      CHECK(part.kind == (compiles ? CauseKind::kCompile : CauseKind::kHostCompute));
  }
}

TEST_CASE("a thread that sleeps in a compiler compiles, whoever does it for it") {
  Scene scene;
  scene.trace().codes[4] = Code{"/site-packages/jax/_src/compiler.py", "backend_compile_and_load", "", 1, 0x030c0000};
  scene.trace().stacks[StackId{8}] = {Scene::frame(4)};
  scene.launch(10, {20, 30});
  scene.sleep(kMain, {100, 4'900}, kEngine, 4'890, StackId{8});
  scene.launch(5'010, {5'020, 5'030});
  const std::vector<Part> parts = scene.explained({200, 4'800});
  REQUIRE(parts.size() == 1);
  CHECK(parts.front().kind == CauseKind::kCompile);
}

}  // namespace synctrace::testing
