// SPDX-License-Identifier: Apache-2.0
// The whole way of an event without CUDA: pushed by its thread, drained, encoded, on disk, read back.
#include "capture/recorder/drain_thread.h"

#include <pthread.h>

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "capture/events/thread_buffer.h"
#include "capture/process/clocks.h"
#include "capture_support.h"

namespace synctrace::capture {
namespace {

using testing::Ending;
using testing::OpenTrace;
using testing::read_ending;
using testing::read_trace;

// In the recorder it is immortal; here it must outlive the detached thread's last step, which comes after stop().
struct Drain {
  DrainThread* thread;

  explicit Drain(OpenTrace& trace) {
    static std::vector<std::unique_ptr<DrainThread>> all;
    static std::vector<std::unique_ptr<Settings>> all_settings;
    static ModuleWatch watch;
    all_settings.push_back(std::make_unique<Settings>());
    all.push_back(std::make_unique<DrainThread>(*trace.stream, trace.files, watch, *all_settings.back()));
    thread = all.back().get();
  }
};

void start_rings() {
  static const bool started = [] {
    thread_buffers.start(32U << 20);
    return true;
  }();
  REQUIRE(started);
}

constexpr std::uint32_t kLaunchKernel = 307;  // cuLaunchKernel

void push_launch(std::uint32_t i) {
  format::Launch launch;
  launch.thread = this_thread_id();
  launch.begin_ns = now_ns();
  launch.api = format::make_api_id(format::ApiDomain::kDriver, kLaunchKernel);
  launch.correlation = CorrelationId{i};
  push_event(launch);
}

TEST_CASE("what eight threads pushed is in the trace, each thread's events in order") {
  start_rings();
  constexpr std::uint32_t kThreads = 8;
  constexpr std::uint32_t kEvents = 1500;  // fits the smallest ring: nothing may be dropped
  OpenTrace trace;
  Drain drain(trace);
  REQUIRE(drain.thread->start());
  std::atomic<std::uint32_t> unnamed{0};
  std::vector<std::thread> threads;
  for (std::uint32_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      if (pthread_setname_np(pthread_self(), ("worker " + std::to_string(t)).c_str()) != 0) unnamed.fetch_add(1);
      for (std::uint32_t i = 0; i < kEvents; ++i) push_launch(i);
      const std::string text = "mark of " + std::to_string(t);
      push_event(format::NvtxMark{this_thread_id(), now_ns(), {}, {}}, TextStorage::kInline, text);
    });
  }
  push_event(format::NvtxPush{this_thread_id(), now_ns(), {}, {}}, TextStorage::kInline, "still open");
  format::Collective collective;
  collective.number = 17;
  push_event(collective, TextStorage::kPointer, "AllReduce");
  push_event(format::CollectiveLaunch{this_thread_id(), now_ns(), 5, 3, CorrelationId{1}, CorrelationId{2}, 2});
  for (std::thread& thread : threads) thread.join();
  CHECK(unnamed == 0);
  CHECK(drain.thread->stop("exit"));

  std::map<ThreadId, std::uint32_t> launches;
  std::map<std::string, int> marks;
  std::map<std::uint32_t, std::string> strings;
  std::uint64_t out_of_order = 0;
  std::string call_name;
  std::uint64_t clocks = 0;
  std::string open_range;
  std::string collectives;
  const format::Damage damage = read_trace(trace.path(), [&](const auto& record) {
    using Record = std::remove_cvref_t<decltype(record)>;
    if constexpr (std::is_same_v<Record, format::Launch>)
      out_of_order += launches[record.thread]++ == number(record.correlation) ? 0 : 1;
    if constexpr (std::is_same_v<Record, format::String>) strings[number(record.id)] = record.text;
    if constexpr (std::is_same_v<Record, format::NvtxMark>) ++marks[strings[number(record.text)]];
    if constexpr (std::is_same_v<Record, format::NvtxPush>) open_range = strings[number(record.text)];
    if constexpr (std::is_same_v<Record, format::Collective>)
      collectives += strings[number(record.operation)] + " " + std::to_string(record.number);
    if constexpr (std::is_same_v<Record, format::CollectiveLaunch>)
      collectives += " by " + std::to_string(record.launches);
    if constexpr (std::is_same_v<Record, format::ApiName>) call_name = record.name;
    if constexpr (std::is_same_v<Record, format::Clock>) ++clocks;
  });
  CHECK(damage.none());
  CHECK(launches.size() == kThreads);
  for (const auto& [thread, count] : launches) CHECK(count == kEvents);
  CHECK(out_of_order == 0);
  CHECK(marks.size() == kThreads);
  for (std::uint32_t t = 0; t < kThreads; ++t) CHECK(marks["mark of " + std::to_string(t)] == 1);
  CHECK(open_range == "still open");
  CHECK(collectives == "AllReduce 17 by 2");
  CHECK(call_name == "cuLaunchKernel");
  CHECK(clocks >= 1);
  const Ending ending = read_ending(trace.path());
  CHECK(ending.losses.empty());
  CHECK(ending.reason == "exit");
  CHECK(ending.promised_records == ending.records);
}

TEST_CASE("threads that outrun the drain lose events by count, never by silence") {
  start_rings();
  constexpr std::uint32_t kThreads = 4;
  constexpr std::uint32_t kEvents = 100'000;
  OpenTrace trace;
  Drain drain(trace);
  REQUIRE(drain.thread->start());
  std::vector<std::thread> threads;
  for (std::uint32_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([] {
      for (std::uint32_t i = 0; i < kEvents; ++i) push_launch(i);
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(drain.thread->stop("exit"));
  std::uint64_t launches = 0;
  read_trace(trace.path(), [&](const format::Launch&) { ++launches; });
  const Ending ending = read_ending(trace.path());
  const std::uint64_t lost = ending.losses.count("ring-full") != 0 ? ending.losses.at("ring-full") : 0;
  CHECK(launches > 0);
  CHECK(launches + lost == kThreads * kEvents);
}

TEST_CASE("a thread's name is recorded, also that of a thread which took over a ring") {
  start_rings();
  OpenTrace trace;
  Drain drain(trace);
  pthread_setname_np(pthread_self(), "namesake");
  push_launch(0);
  REQUIRE(drain.thread->start());
  CHECK(drain.thread->stop("exit"));
  const ThreadId self = this_thread_id();
  std::string name;
  read_trace(trace.path(), [&](const format::Thread& record) {
    if (record.thread == self) name = record.name;
  });
  CHECK(name == "namesake");
}

TEST_CASE("a window that is open at the end is closed there, judged by time and not by the order of the rings") {
  start_rings();
  // An early ring holds the later change, a later ring the earlier one.
  const auto last_window = [](std::int64_t own_time, std::uint32_t own_open) {
    OpenTrace trace;
    Drain drain(trace);
    push_event(WindowEvent{own_time, own_open, 0}, TextStorage::kPointer, "capture-range");
    std::thread([&] { push_event(WindowEvent{1000, 1 - own_open, 0}, TextStorage::kPointer, "capture-range"); }).join();
    REQUIRE(drain.thread->start());
    CHECK(drain.thread->stop("exit"));
    std::string reason;
    read_trace(trace.path(), [&](const format::Window& record) { reason = record.reason; });
    return reason;
  };
  CHECK(last_window(2000, 1) == "exit");
  CHECK(last_window(2000, 0) == "capture-range");
}

}  // namespace
}  // namespace synctrace::capture
