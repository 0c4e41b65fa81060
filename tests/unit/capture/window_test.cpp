// SPDX-License-Identifier: Apache-2.0
// Windows by the clock and by the program's ranges. Without a CUPTI subscriber the sources have nothing to switch, so
// what is seen are the Window events that each control leaves in the ring of the thread that caused them.
#include "capture/cupti/window.h"

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "capture/events/thread_buffer.h"
#include "support/catch.h"

namespace synctrace::capture::window_test {
namespace {

using format::RangeKind;

// "+reason" for a window that opens, "-reason" for one that closes, in order of time.
std::vector<std::string> take_changes() {
  std::vector<std::pair<std::int64_t, std::string>> changes;
  thread_buffers.for_each([&](ThreadBuffer& buffer) {
    buffer.take_all([&](const EventView& event) {
      if (event.kind != format::RecordKind::kWindow) return;
      const auto window = event.as<WindowEvent>();
      changes.emplace_back(window.time_ns, (window.open != 0 ? "+" : "-") + std::string(event.text));
    });
  });
  std::stable_sort(changes.begin(), changes.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> texts;
  for (const auto& change : changes) texts.push_back(change.second);
  return texts;
}

using Changes = std::vector<std::string>;
constexpr std::int64_t kStart = 1'000'000;

Settings with_range(format::CaptureRange range) {
  Settings settings;
  settings.range = range;
  return settings;
}

// What the NVTX handler does for push and pop.
bool push(WindowControl& control, std::string_view text) {
  const bool watched = control.watches(text);
  if (watched) control.range_begin();
  return watched;
}
void pop(WindowControl& control, bool watched) {
  if (watched) control.range_end();
}
void run_range(WindowControl& control, std::string_view text) { pop(control, push(control, text)); }
void mark(WindowControl& control, std::string_view text) {
  if (control.watches(text)) control.range_mark();
}

TEST_CASE("without a window the timeline opens at the start and stays open") {
  WindowControl control;
  control.start(Settings{}, kStart);
  control.tick(kStart + 1);
  control.on_profiler_call(true);
  control.on_profiler_call(false);
  CHECK(take_changes() == Changes{"+start"});
  CHECK_FALSE(control.never_opened());
}

TEST_CASE("at level syncs no window ever opens, and none is missed") {
  WindowControl control;
  Settings settings = with_range({RangeKind::kProfilerApi, {}, 0, 0});
  settings.level = Level::kSyncs;
  control.start(settings, kStart);
  control.on_profiler_call(true);
  control.tick(kStart + 10);
  CHECK(take_changes().empty());
  CHECK_FALSE(control.never_opened());
}

TEST_CASE("what comes before the start is of no consequence") {
  WindowControl control;
  control.tick(kStart);
  control.on_profiler_call(true);
  CHECK_FALSE(control.watches("step"));
  CHECK(take_changes().empty());
}

TEST_CASE("delay and duration open and close to the nanosecond") {
  WindowControl control;
  Settings settings;
  settings.delay_ns = 100;
  settings.duration_ns = 50;
  control.start(settings, kStart);
  control.tick(kStart + 99);
  CHECK(control.never_opened());
  CHECK(take_changes().empty());
  control.tick(kStart + 100);
  CHECK(take_changes() == Changes{"+delay"});
  control.tick(kStart + 149);
  CHECK(take_changes().empty());
  control.tick(kStart + 150);
  CHECK(take_changes() == Changes{"-duration"});
  control.tick(kStart + 100'000);
  CHECK(take_changes().empty());
  CHECK_FALSE(control.never_opened());
}

TEST_CASE("a duty cycle opens at the borders of its periods") {
  WindowControl control;
  Settings settings;
  settings.duty = {10, 60};
  control.start(settings, kStart);
  CHECK(take_changes() == Changes{"+start"});
  const std::pair<std::int64_t, Changes> ticks[] = {{9, {}},          {10, {"-duty"}}, {59, {}},
                                                    {60, {"+duty"}},  {69, {}},        {70, {"-duty"}},
                                                    {181, {"+duty"}}, {241, {}},       {299, {"-duty"}}};
  for (const auto& [time, expected] : ticks) {
    INFO(time);
    control.tick(kStart + time);
    CHECK(take_changes() == expected);
  }
}

TEST_CASE("a duty cycle counts from the end of the delay and ends with the duration") {
  WindowControl control;
  Settings settings;
  settings.delay_ns = 7;
  settings.duration_ns = 65;
  settings.duty = {10, 60};
  control.start(settings, kStart);
  const std::pair<std::int64_t, bool> ticks[] = {{6, false}, {7, true},  {16, true},  {17, false}, {66, false},
                                                 {67, true}, {71, true}, {72, false}, {130, false}};
  bool open = false;
  for (const auto& [time, expected] : ticks) {
    INFO(time);
    control.tick(kStart + time);
    for (const std::string& change : take_changes()) open = change[0] == '+';
    CHECK(open == expected);
  }
}

TEST_CASE("a duty cycle that is always on never closes") {
  WindowControl control;
  Settings settings;
  settings.duty = {60, 60};
  control.start(settings, kStart);
  for (std::int64_t time = 0; time < 200; ++time) control.tick(kStart + time);
  CHECK(take_changes() == Changes{"+start"});
}

TEST_CASE("profiler start and stop, however often, are one window at a time") {
  WindowControl control;
  control.start(with_range({RangeKind::kProfilerApi, {}, 0, 0}), kStart);
  CHECK(take_changes().empty());
  control.on_profiler_call(false);
  control.on_profiler_call(true);
  control.on_profiler_call(true);
  control.on_profiler_call(false);
  control.on_profiler_call(false);
  control.on_profiler_call(true);
  CHECK(take_changes() == Changes{"+capture-range", "-capture-range", "+capture-range"});
}

TEST_CASE("a range and the clock must both agree") {
  WindowControl control;
  Settings settings = with_range({RangeKind::kProfilerApi, {}, 0, 0});
  settings.delay_ns = 100;
  control.start(settings, kStart);
  control.on_profiler_call(true);
  CHECK(take_changes().empty());
  control.tick(kStart + 100);
  CHECK(take_changes() == Changes{"+delay"});
  control.on_profiler_call(false);
  control.tick(kStart + 200);
  CHECK(take_changes() == Changes{"-capture-range"});
}

TEST_CASE("a named range, nested in itself, is open until its outermost end") {
  WindowControl control;
  control.start(with_range({RangeKind::kNvtx, "epoch", 0, 0}), kStart);
  run_range(control, "epoch 1");  // another name
  mark(control, "epoch");         // a mark is no range
  CHECK(take_changes().empty());
  const bool outer = push(control, "epoch");
  const bool other = push(control, "forward");
  const bool inner = push(control, "epoch");
  pop(control, inner);
  pop(control, other);
  CHECK(take_changes() == Changes{"+capture-range"});
  pop(control, outer);
  CHECK(take_changes() == Changes{"-capture-range"});
  control.range_end();  // an end too many is of no consequence
  run_range(control, "epoch");
  CHECK(take_changes() == Changes{"+capture-range", "-capture-range"});
}

TEST_CASE("a named range open on two threads closes with the last of them") {
  WindowControl control;
  control.start(with_range({RangeKind::kNvtx, "epoch", 0, 0}), kStart);
  bool first = false;
  std::thread([&] { first = push(control, "epoch"); }).join();
  const bool second = push(control, "epoch");
  std::thread([&] { pop(control, first); }).join();
  CHECK(take_changes() == Changes{"+capture-range"});
  pop(control, second);
  CHECK(take_changes() == Changes{"-capture-range"});
}

TEST_CASE("steps A-B by ranges: from the beginning of A to the end of B") {
  WindowControl control;
  control.start(with_range({RangeKind::kSteps, {}, 1, 2}), kStart);
  run_range(control, "step 0");
  CHECK(take_changes().empty());
  pop(control, push(control, "step 1"));
  CHECK(take_changes() == Changes{"+capture-range"});  // open between the steps too
  const bool last = push(control, "step 2");
  CHECK(take_changes().empty());
  pop(control, last);
  CHECK(take_changes() == Changes{"-capture-range"});
  for (int i = 3; i < 10; ++i) run_range(control, "step");
  CHECK(take_changes().empty());
}

TEST_CASE("one step, and the very first") {
  WindowControl control;
  control.start(with_range({RangeKind::kSteps, {}, 0, 0}), kStart);
  const bool first = push(control, "iteration");
  CHECK(take_changes() == Changes{"+capture-range"});
  pop(control, first);
  CHECK(take_changes() == Changes{"-capture-range"});
  run_range(control, "iteration");
  CHECK(take_changes().empty());
}

TEST_CASE("steps A-B by marks: a mark begins a step and ends the one before") {
  WindowControl control;
  control.start(with_range({RangeKind::kSteps, {}, 1, 2}), kStart);
  mark(control, "step 0");
  CHECK(take_changes().empty());
  mark(control, "step 1");
  CHECK(take_changes() == Changes{"+capture-range"});
  mark(control, "step 2");
  CHECK(take_changes().empty());
  mark(control, "step 3");
  CHECK(take_changes() == Changes{"-capture-range"});
  for (int i = 4; i < 10; ++i) mark(control, "step");
  CHECK(take_changes().empty());
}

TEST_CASE("what counts as a step") {
  WindowControl control;
  control.start(with_range({RangeKind::kSteps, {}, 0, 9}), kStart);
  for (const char* text : {"step", "step 12", "step:12", "step#0", "step_3", "step-7", "train_step", "train_step 4",
                           "ProfilerStep#31", "iteration 5"}) {
    INFO(text);
    CHECK(control.watches(text));
  }
  for (const char* text :
       {"", "steps", "step12", "step ", "step 1a", "step 1 2", "Step", "my step", "optimizer.step"}) {
    INFO(text);
    CHECK_FALSE(control.watches(text));
  }
  WindowControl named;
  Settings settings = with_range({RangeKind::kSteps, {}, 0, 9});
  settings.step_marker = "batch";
  named.start(settings, kStart);
  CHECK(named.watches("batch"));
  CHECK(named.watches("batch 3"));
  CHECK_FALSE(named.watches("step"));
  CHECK_FALSE(named.watches("batches"));
}

TEST_CASE("a window closed for good stays closed") {
  WindowControl control;
  Settings settings;
  settings.duty = {10, 60};
  control.start(settings, kStart);
  control.close_for_good("max-size");
  control.tick(kStart + 20);
  control.tick(kStart + 61);
  CHECK(take_changes() == Changes{"+start", "-max-size"});
}

TEST_CASE("ranges on four threads and the clock's ticks: changes alternate and end closed") {
  WindowControl control;
  control.start(with_range({RangeKind::kNvtx, "epoch", 0, 0}), kStart);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 500; ++round) run_range(control, "epoch");
    });
  }
  for (int i = 0; i < 2000; ++i) control.tick(kStart + i);
  for (std::thread& thread : threads) thread.join();
  // Each change is stamped while the lock is held; two may share a nanosecond only across rings, so they are counted.
  const Changes changes = take_changes();
  const auto opened = std::count(changes.begin(), changes.end(), "+capture-range");
  CHECK(opened > 0);
  CHECK(std::count(changes.begin(), changes.end(), "-capture-range") == opened);
  CHECK(changes.back() == "-capture-range");
}

constexpr std::int64_t kMs = 1'000'000;

TEST_CASE("work belongs to a window that it touches") {
  RecentWindows windows;
  CHECK_FALSE(windows.touch(0, 10 * kMs));
  windows.open(1000 * kMs);
  CHECK_FALSE(windows.touch(0, 999 * kMs));
  CHECK(windows.touch(0, 1001 * kMs));
  CHECK(windows.touch(5000 * kMs, 9000 * kMs));
  windows.close(2000 * kMs);
  CHECK(windows.touch(2000 * kMs, 3000 * kMs));
  CHECK_FALSE(windows.touch(2001 * kMs, 9000 * kMs));
  windows.open(4000 * kMs);
  CHECK_FALSE(windows.touch(2300 * kMs, 3900 * kMs));
  CHECK(windows.touch(1500 * kMs, 1600 * kMs));
  CHECK(windows.touch(0, 9000 * kMs));
}

TEST_CASE("work from before all remembered windows is kept") {
  RecentWindows windows;
  for (int i = 0; i < 100; ++i) {
    windows.open((1000 + 1000 * i) * kMs);
    windows.close((1100 + 1000 * i) * kMs);
  }
  CHECK(windows.touch(500 * kMs, 600 * kMs));
  CHECK_FALSE(windows.touch(99'500 * kMs, 99'600 * kMs));
}

}  // namespace
}  // namespace synctrace::capture::window_test
