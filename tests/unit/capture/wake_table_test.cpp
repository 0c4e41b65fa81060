// SPDX-License-Identifier: Apache-2.0
// Who signalled an address last: exact where it answers, and silent where it does not know.
#include "capture/waits/wake_table.h"

#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "support/catch.h"

using namespace synctrace;
using namespace synctrace::capture;

namespace {

constexpr ThreadId kThread{4'194'303};  // the largest number that Linux gives

// Two addresses of one slot, by trying.
std::uintptr_t neighbour_of(std::uintptr_t address) {
  const auto table = std::make_unique<WakeTable>();
  for (std::uintptr_t other = address + 8;; other += 8) {
    table->note(address, ThreadId{1}, 5);
    table->note(other, ThreadId{2}, 6);
    if (table->find(address, 0, 9).thread == ThreadId{}) return other;
  }
}

}  // namespace

TEST_CASE("the last signaller of an address is its waker") {
  const auto table = std::make_unique<WakeTable>();
  table->note(0x7f00'0000'1000, ThreadId{11}, 100);
  table->note(0x7f00'0000'1000, kThread, 150);
  const Wake wake = table->find(0x7f00'0000'1000, 90, 200);
  CHECK(wake.thread == kThread);
  CHECK(wake.ticks == 150);
}

TEST_CASE("a signal outside the wait did not end it") {
  const auto table = std::make_unique<WakeTable>();
  table->note(0x1000, kThread, 150);
  CHECK(table->find(0x1000, 151, 200).thread == ThreadId{});
  CHECK(table->find(0x1000, 100, 149).thread == ThreadId{});
  CHECK(table->find(0x1000, 150, 150).thread == kThread);
}

TEST_CASE("an address that was never signalled has no waker") {
  const auto table = std::make_unique<WakeTable>();
  CHECK(table->find(0x1000, 0, ~std::uint64_t{0}).thread == ThreadId{});
  table->note(0x1000, kThread, 150);
  for (std::uintptr_t other = 0x1008; other < 0x9000; other += 8)
    CHECK(table->find(other, 0, 200).thread == ThreadId{});
}

TEST_CASE("of two addresses that share a slot the later signal stays") {
  const auto table = std::make_unique<WakeTable>();
  const std::uintptr_t other = neighbour_of(0x1000);
  table->note(0x1000, ThreadId{1}, 5);
  table->note(other, ThreadId{2}, 6);
  CHECK(table->find(0x1000, 0, 9).thread == ThreadId{});
  CHECK(table->find(other, 0, 9).thread == ThreadId{2});
}

TEST_CASE("what threads store at once into one slot is told whole or not at all") {
  const auto table = std::make_unique<WakeTable>();
  const std::uintptr_t addresses[] = {0x1000, neighbour_of(0x1000)};
  constexpr std::uint64_t kRounds = 200'000;
  // Each thread's ticks are its own: ticks % 4 is the thread, and even threads signal the first address.
  const auto signal = [&](std::uint32_t thread) {
    for (std::uint64_t i = 1; i <= kRounds; ++i)
      table->note(addresses[thread % 2], ThreadId{thread + 1}, i * 4 + thread);
  };
  std::vector<std::thread> threads;
  for (std::uint32_t thread = 0; thread < 4; ++thread) threads.emplace_back(signal, thread);
  std::uint64_t found = 0;
  std::uint64_t wrong = 0;
  for (std::uint64_t i = 0; i < kRounds; ++i) {
    const Wake wake = table->find(addresses[i % 2], 0, ~std::uint64_t{0});
    if (wake.thread == ThreadId{}) continue;
    ++found;
    if (number(wake.thread) != wake.ticks % 4 + 1 || wake.ticks % 2 != i % 2) ++wrong;
  }
  for (std::thread& thread : threads) thread.join();
  INFO("found " << found);
  CHECK(wrong == 0);
}
