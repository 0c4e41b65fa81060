// SPDX-License-Identifier: Apache-2.0
#include "capture/events/thread_buffer.h"

#include <signal.h>
#include <sys/time.h>

#include <atomic>
#include <cstdint>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "support/catch.h"

namespace synctrace::capture {
namespace {

using format::NvtxEnd;
using format::NvtxMark;
using format::RecordKind;

// A ring of its own, without the process's table of rings.
struct Ring {
  explicit Ring(std::size_t bytes = 4096) : memory(bytes), buffer(ThreadId{7}, memory.data(), bytes) {}
  std::vector<std::byte> memory;
  ThreadBuffer buffer;

  // NvtxEnd events as numbers; checks that nothing else is there.
  std::vector<std::uint64_t> take() {
    std::vector<std::uint64_t> taken;
    bool all_known = true;
    buffer.take_all([&](const EventView& event) {
      all_known = all_known && event.kind == RecordKind::kNvtxEnd;
      taken.push_back(event.as<NvtxEnd>().range);
    });
    CHECK(all_known);
    return taken;
  }
};

constexpr std::size_t kEndBytes = sizeof(EventHeader) + sizeof(NvtxEnd);

NvtxEnd numbered(std::uint64_t number) { return {ThreadId{7}, static_cast<std::int64_t>(number), number}; }

TEST_CASE("events come out in the order they went in, once") {
  Ring ring;
  for (std::uint64_t i = 0; i < 10; ++i) ring.buffer.push(numbered(i));
  CHECK(ring.take() == std::vector<std::uint64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  CHECK(ring.take().empty());
  CHECK(ring.buffer.take_dropped() == 0);
}

constexpr std::uint64_t kOfHandler = std::uint64_t{1} << 40;
Ring* interrupted_ring = nullptr;
volatile std::uint64_t pushed_by_handler = 0;

void push_in_handler(int) {
  interrupted_ring->buffer.push(numbered(kOfHandler + pushed_by_handler));
  pushed_by_handler = pushed_by_handler + 1;
}

TEST_CASE("pushes that signals interrupt stay whole, and none is lost uncounted") {
  Ring ring;
  interrupted_ring = &ring;
  struct sigaction action {};
  struct sigaction before {};
  action.sa_handler = push_in_handler;
  REQUIRE(sigaction(SIGALRM, &action, &before) == 0);
  const itimerval often{{0, 50}, {0, 50}};
  REQUIRE(setitimer(ITIMER_REAL, &often, nullptr) == 0);
  std::uint64_t pushed = 0;
  std::uint64_t taken = 0;
  std::uint64_t dropped = 0;
  bool in_order = true;
  while (pushed_by_handler < 500) {
    std::uint64_t last_own = 0;
    std::uint64_t last_handlers = 0;
    for (int i = 0; i < 20; ++i) ring.buffer.push(numbered(++pushed));
    for (const std::uint64_t number : ring.take()) {
      std::uint64_t& last = number < kOfHandler ? last_own : last_handlers;
      in_order = in_order && number > last;
      last = number;
      ++taken;
    }
    dropped += ring.buffer.take_dropped();
  }
  const itimerval never{};
  setitimer(ITIMER_REAL, &never, nullptr);
  sigaction(SIGALRM, &before, nullptr);
  taken += ring.take().size();
  dropped += ring.buffer.take_dropped();
  CHECK(in_order);
  CHECK(taken + dropped == pushed + pushed_by_handler);
}

TEST_CASE("a record is taken as it was pushed") {
  Ring ring;
  format::Call call;
  call.thread = ThreadId{9};
  call.begin_ns = -5;
  call.bytes = ~std::uint64_t{0};
  call.target_memory = format::MemoryKind::kPinned;
  call.status = 700;
  ring.buffer.push(call);
  const std::size_t taken = ring.buffer.take_all([&](const EventView& event) {
    REQUIRE(event.kind == RecordKind::kCall);
    const auto same = event.as<format::Call>();
    CHECK(same.thread == call.thread);
    CHECK(same.begin_ns == call.begin_ns);
    CHECK(same.bytes == call.bytes);
    CHECK(same.target_memory == call.target_memory);
    CHECK(same.status == call.status);
    CHECK(event.text.empty());
  });
  CHECK(taken == sizeof(EventHeader) + sizeof(call));
}

TEST_CASE("an event wraps at every offset of the ring") {
  // Texts shift the head by every multiple of 8; the event behind them meets the end of the ring in every way.
  Ring ring(1024);
  std::string text;
  std::uint64_t next = 0;
  bool in_order = true;
  bool same_text = true;
  for (std::size_t round = 0; round < 2000; ++round) {
    text.assign(round % 129, static_cast<char>('a' + round % 26));
    ring.buffer.push(numbered(next), TextStorage::kInline, text);
    ring.buffer.push(numbered(next + 1));
    std::uint64_t expected = next;
    ring.buffer.take_all([&](const EventView& event) {
      in_order = in_order && event.as<NvtxEnd>().range == expected;
      same_text = same_text && event.text == (expected == next ? text : "");
      ++expected;
    });
    in_order = in_order && expected == next + 2;
    next += 2;
  }
  CHECK(in_order);
  CHECK(same_text);
  CHECK(ring.buffer.take_dropped() == 0);
}

TEST_CASE("a full ring drops what comes and counts it; what it holds stays whole") {
  Ring ring(1024);
  const std::uint64_t room = 1024 / kEndBytes;
  for (std::uint64_t i = 0; i < room + 5; ++i) ring.buffer.push(numbered(i));
  CHECK(ring.buffer.take_dropped() == 5);
  CHECK(ring.buffer.take_dropped() == 0);
  std::vector<std::uint64_t> expected;
  for (std::uint64_t i = 0; i < room; ++i) expected.push_back(i);
  CHECK(ring.take() == expected);
  // And goes on where it stopped.
  ring.buffer.push(numbered(99));
  CHECK(ring.take() == std::vector<std::uint64_t>{99});
}

TEST_CASE("an event of the whole ring's size fits the empty ring, once") {
  Ring ring(512);
  const std::string text(512 - sizeof(EventHeader) - sizeof(NvtxEnd), 'x');
  ring.buffer.push(numbered(1), TextStorage::kInline, text);
  ring.buffer.push(numbered(2));
  CHECK(ring.buffer.take_dropped() == 1);
  CHECK(ring.take() == std::vector<std::uint64_t>{1});
}

TEST_CASE("texts travel inline or by pointer") {
  Ring ring;
  const std::string immortal = "registered";
  {
    std::string passing = "passing";
    ring.buffer.push(NvtxMark{ThreadId{7}, 1, {}, {}}, TextStorage::kInline, passing);
    passing.assign(passing.size(), '-');
  }
  ring.buffer.push(NvtxMark{ThreadId{7}, 2, {}, {}}, TextStorage::kPointer, immortal);
  ring.buffer.push(NvtxMark{ThreadId{7}, 3, {}, {}}, TextStorage::kPointer, {});
  ring.buffer.push(NvtxMark{ThreadId{7}, 4, {}, {}}, TextStorage::kInline, {});
  std::vector<std::string> texts;
  const char* by_pointer = nullptr;
  ring.buffer.take_all([&](const EventView& event) {
    texts.emplace_back(event.text);
    if (event.as<NvtxMark>().time_ns == 2) by_pointer = event.text.data();
  });
  CHECK(texts == std::vector<std::string>{"passing", "registered", "", ""});
  CHECK(by_pointer == immortal.data());
}

TEST_CASE("an inline text is cut at its limit, however long it is") {
  for (const std::size_t length : {kMaxInlineText - 1, kMaxInlineText, kMaxInlineText + 1, std::size_t{70'000}}) {
    Ring ring;
    ring.buffer.push(numbered(1), TextStorage::kInline, std::string(length, 'n'));
    ring.buffer.push(numbered(2));
    std::vector<std::size_t> lengths;
    ring.buffer.take_all([&](const EventView& event) { lengths.push_back(event.text.size()); });
    CHECK(lengths == std::vector<std::size_t>{std::min(length, kMaxInlineText), 0});
  }
}

TEST_CASE("a name is new when the thread or its text is another") {
  Ring ring;
  CHECK(ring.buffer.remember_name(ThreadId{1}, 10));
  CHECK_FALSE(ring.buffer.remember_name(ThreadId{1}, 10));
  CHECK(ring.buffer.remember_name(ThreadId{1}, 11));
  CHECK(ring.buffer.remember_name(ThreadId{2}, 11));
}

// The rings of a process are never unmapped, so a test's table outlives the test.
ThreadBuffers& new_table(std::size_t budget_bytes) {
  static std::vector<std::unique_ptr<ThreadBuffers>> kept;
  ThreadBuffers* table = kept.emplace_back(std::make_unique<ThreadBuffers>()).get();
  table->start(budget_bytes);
  return *table;
}

ThreadBuffer* push_on_new_thread(ThreadBuffers& table, std::uint64_t number) {
  ThreadBuffer* buffer = nullptr;
  std::thread([&] {
    buffer = table.buffer_of_this_thread();
    if (buffer != nullptr) buffer->push(numbered(number));
  }).join();
  return buffer;
}

std::size_t take_all(ThreadBuffers& table) {
  std::size_t count = 0;
  table.for_each([&](ThreadBuffer& buffer) { buffer.take_all([&](const EventView&) { ++count; }); });
  return count;
}

TEST_CASE("the ring of an ended thread is reused once it is empty") {
  ThreadBuffers& table = new_table(32U << 20);
  ThreadBuffer* first = push_on_new_thread(table, 1);
  REQUIRE(first != nullptr);
  const ThreadId first_thread = first->thread();
  ThreadBuffer* second = push_on_new_thread(table, 2);
  CHECK(second != first);  // the first still holds its event
  CHECK(take_all(table) == 2);
  first->open_range_count = 3;
  ThreadBuffer* third = push_on_new_thread(table, 3);
  CHECK(third == first);
  CHECK(third->thread() != first_thread);
  CHECK(third->open_range_count == 0);
  CHECK(take_all(table) == 1);
  CHECK(table.take_dropped() == 0);
}

TEST_CASE("the budget of rings holds; a thread without one drops and counts, and gets one when there is room") {
  // One ring of 1 MiB and one of 128 KiB fit, a third does not.
  ThreadBuffers& table = new_table((1U << 20) + (192U << 10));
  ThreadBuffer* large = push_on_new_thread(table, 1);
  ThreadBuffer* small = push_on_new_thread(table, 2);
  REQUIRE(large != nullptr);
  REQUIRE(small != nullptr);
  CHECK(large->ring_bytes() == 1U << 20);
  CHECK(small->ring_bytes() == 128U << 10);
  std::thread([&] {
    for (int i = 0; i < 5000; ++i) CHECK_FALSE(table.buffer_of_this_thread() != nullptr);
    CHECK(take_all(table) == 2);
    CHECK(table.buffer_of_this_thread() != nullptr);
  }).join();
  CHECK(table.take_dropped() == 5000);
  CHECK(table.take_dropped() == 0);
  std::size_t rings = 0;
  table.for_each([&](ThreadBuffer&) { ++rings; });
  CHECK(rings == 2);
}

TEST_CASE("of threads that start at once a dozen get a large ring, and all of them one") {
  constexpr std::size_t kThreads = 64;
  constexpr std::size_t kLargeRings = 12;
  for (int round = 0; round < 10; ++round) {
    ThreadBuffers& table = new_table(32U << 20);
    std::latch start(kThreads);
    std::latch all_asked(kThreads);
    std::atomic<std::size_t> large{0};
    std::atomic<std::size_t> without{0};
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < kThreads; ++i) {
      threads.emplace_back([&] {
        start.arrive_and_wait();
        const ThreadBuffer* buffer = table.buffer_of_this_thread();
        if (buffer == nullptr) ++without;
        if (buffer != nullptr && buffer->ring_bytes() == 1U << 20) ++large;
        all_asked.arrive_and_wait();
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(large == kLargeRings);
    CHECK(without == 0);
  }
}

TEST_CASE("eight producers and one consumer: every event is seen once, in its thread's order, or counted") {
  constexpr std::uint64_t kProducers = 8;
  constexpr std::uint64_t kEventsEach = 125'000;
  // A ring for each. The consumer never waits and the producers never stop: rings do get full.
  ThreadBuffers& table = new_table(kProducers * ((1U << 20) + (64U << 10)));
  std::atomic<std::uint64_t> running{kProducers};
  std::latch all_have_rings(kProducers);
  std::vector<std::thread> producers;
  for (std::uint64_t producer = 0; producer < kProducers; ++producer) {
    producers.emplace_back([&, producer] {
      ThreadBuffer* buffer = table.buffer_of_this_thread();
      all_have_rings.arrive_and_wait();
      for (std::uint64_t i = 0; i < kEventsEach; ++i) {
        if (buffer == nullptr) break;
        // Every fourth with a text that says what the number says.
        const std::uint64_t number = producer << 32 | i;
        const std::string text = i % 4 == 0 ? std::to_string(number) : std::string();
        buffer->push(numbered(number), TextStorage::kInline, text);
      }
      running.fetch_sub(1);
    });
  }
  std::vector<std::int64_t> last(kProducers, -1);
  std::uint64_t seen = 0;
  std::uint64_t dropped = 0;
  bool in_order = true;
  bool whole = true;
  const auto drain = [&] {
    table.for_each([&](ThreadBuffer& buffer) {
      buffer.take_all([&](const EventView& event) {
        const std::uint64_t number = event.as<NvtxEnd>().range;
        const std::uint64_t producer = number >> 32;
        const auto index = static_cast<std::int64_t>(number & 0xffffffff);
        whole = whole && event.kind == RecordKind::kNvtxEnd && producer < kProducers &&
                event.text == (index % 4 == 0 ? std::to_string(number) : std::string());
        if (!whole) return;
        in_order = in_order && index > last[producer];
        last[producer] = index;
        ++seen;
      });
      dropped += buffer.take_dropped();
    });
    dropped += table.take_dropped();
  };
  while (running.load() != 0) drain();
  for (std::thread& producer : producers) producer.join();
  drain();
  std::size_t rings = 0;
  table.for_each([&](ThreadBuffer&) { ++rings; });
  CHECK(rings == kProducers);
  CHECK(whole);
  CHECK(in_order);
  CHECK(seen > 0);
  CHECK(seen + dropped == kProducers * kEventsEach);
}

}  // namespace
}  // namespace synctrace::capture
