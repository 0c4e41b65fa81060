// SPDX-License-Identifier: Apache-2.0
#include "capture/cupti/memory_ranges.h"

#include <atomic>
#include <map>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "support/catch.h"

namespace synctrace::capture {
namespace {

using format::MemoryKind;

struct Table {
  std::unique_ptr<MemoryRanges> ranges = std::make_unique<MemoryRanges>();
  MemoryRanges* operator->() const { return ranges.get(); }
};

TEST_CASE("a range holds its first address and not its end") {
  Table table;
  table->add(1000, 100, MemoryKind::kPinned);
  CHECK(table->kind_of(999) == MemoryKind::kPageable);
  CHECK(table->kind_of(1000) == MemoryKind::kPinned);
  CHECK(table->kind_of(1099) == MemoryKind::kPinned);
  CHECK(table->kind_of(1100) == MemoryKind::kPageable);
}

TEST_CASE("ranges side by side keep their kinds") {
  Table table;
  table->add(2000, 100, MemoryKind::kDevice);
  table->add(1900, 100, MemoryKind::kManaged);
  table->add(2100, 100, MemoryKind::kPinned);
  CHECK(table->kind_of(1999) == MemoryKind::kManaged);
  CHECK(table->kind_of(2000) == MemoryKind::kDevice);
  CHECK(table->kind_of(2099) == MemoryKind::kDevice);
  CHECK(table->kind_of(2100) == MemoryKind::kPinned);
  table->remove(2000);
  CHECK(table->kind_of(1999) == MemoryKind::kManaged);
  CHECK(table->kind_of(2050) == MemoryKind::kPageable);
  CHECK(table->kind_of(2100) == MemoryKind::kPinned);
}

TEST_CASE("a second range at the same address replaces the first") {
  Table table;
  table->add(1000, 100, MemoryKind::kPinned);
  table->add(1000, 10, MemoryKind::kDevice);
  CHECK(table->kind_of(1005) == MemoryKind::kDevice);
  CHECK(table->kind_of(1010) == MemoryKind::kPageable);
  table->remove(1000);
  CHECK(table->kind_of(1005) == MemoryKind::kPageable);
}

TEST_CASE("nothing is known of the null address, nothing is added by failed or empty allocations") {
  Table table;
  table->add(0, 100, MemoryKind::kDevice);
  table->add(1000, 0, MemoryKind::kDevice);
  CHECK(table->kind_of(0) == MemoryKind::kUnknown);
  CHECK(table->kind_of(50) == MemoryKind::kPageable);
  CHECK(table->kind_of(1000) == MemoryKind::kPageable);
  table->remove(0);
  table->remove(12345);  // was never there
  CHECK(table->kind_of(12345) == MemoryKind::kPageable);
}

TEST_CASE("lookups agree with a plain map through 200,000 random changes") {
  Table table;
  struct Range {
    std::uintptr_t end;
    MemoryKind kind;
  };
  std::map<std::uintptr_t, Range> reference;
  const auto expected = [&](std::uintptr_t address) {
    auto after = reference.upper_bound(address);
    if (after == reference.begin()) return MemoryKind::kPageable;
    const auto& [begin, range] = *std::prev(after);
    return address < range.end ? range.kind : MemoryKind::kPageable;
  };
  std::mt19937_64 random(2);
  constexpr std::uintptr_t kSlotBytes = 4096;
  constexpr MemoryKind kKinds[] = {MemoryKind::kDevice, MemoryKind::kPinned, MemoryKind::kManaged};
  std::uint64_t wrong = 0;
  for (int i = 0; i < 200'000; ++i) {
    const std::uintptr_t begin = (1 + random() % 400) * kSlotBytes;
    if (random() % 2 == 0) {
      const std::size_t bytes = 1 + random() % kSlotBytes;
      const MemoryKind kind = kKinds[random() % 3];
      table->add(begin, bytes, kind);
      reference.insert_or_assign(begin, Range{begin + bytes, kind});
    } else {
      table->remove(begin);
      reference.erase(begin);
    }
    const std::uintptr_t address = 1 + random() % (402 * kSlotBytes);
    if (table->kind_of(address) != expected(address)) ++wrong;
    if (table->kind_of(begin) != expected(begin)) ++wrong;
  }
  CHECK(wrong == 0);
}

TEST_CASE("a full table counts what it refuses, and then knows less instead of guessing") {
  Table table;
  for (std::uintptr_t i = 1; i <= MemoryRanges::kCapacity; ++i) table->add(i << 16, 100, MemoryKind::kDevice);
  CHECK(table->overflow_count() == 0);
  CHECK(table->kind_of(50) == MemoryKind::kPageable);
  const std::uintptr_t beyond = (MemoryRanges::kCapacity + 1) << 16;
  table->add(beyond, 100, MemoryKind::kPinned);
  table->add(beyond + 4096, 100, MemoryKind::kPinned);
  CHECK(table->overflow_count() == 2);
  CHECK(table->kind_of(beyond) == MemoryKind::kUnknown);
  CHECK(table->kind_of(50) == MemoryKind::kUnknown);
  CHECK(table->kind_of(MemoryRanges::kCapacity << 16) == MemoryKind::kDevice);
  CHECK(table->kind_of(std::uintptr_t{1} << 16) == MemoryKind::kDevice);
  // A known address can still be replaced, and freed room be used.
  table->add(std::uintptr_t{1} << 16, 100, MemoryKind::kPinned);
  CHECK(table->kind_of(std::uintptr_t{1} << 16) == MemoryKind::kPinned);
  table->remove(std::uintptr_t{1} << 16);
  table->add(beyond, 100, MemoryKind::kPinned);
  CHECK(table->kind_of(beyond) == MemoryKind::kPinned);
  CHECK(table->overflow_count() == 2);
}

TEST_CASE("a reader during changes sees only kinds that were true of the address") {
  // Two writers add and remove neighbours of four addresses that never change, and two more that change between two
  // kinds: only those may be seen.
  Table table;
  constexpr std::uintptr_t kMiB = 1U << 20;
  table->add(1000 * kMiB, kMiB, MemoryKind::kDevice);
  table->add(2000 * kMiB, kMiB, MemoryKind::kPinned);
  table->add(3000 * kMiB, kMiB, MemoryKind::kManaged);
  std::atomic<bool> done{false};
  std::atomic<std::uint64_t> wrong{0};
  std::atomic<std::uint64_t> answers{0};
  const auto read = [&] {
    std::uint64_t mine = 0;
    const auto expect = [&](std::uintptr_t address, MemoryKind one, MemoryKind other) {
      const MemoryKind kind = table->kind_of(address);
      if (kind == MemoryKind::kUnknown) return;  // gave up, which it may
      ++mine;
      if (kind != one && kind != other) wrong.fetch_add(1);
    };
    do {
      expect(1000 * kMiB + 5, MemoryKind::kDevice, MemoryKind::kDevice);
      expect(2000 * kMiB + 5, MemoryKind::kPinned, MemoryKind::kPinned);
      expect(3000 * kMiB + 5, MemoryKind::kManaged, MemoryKind::kManaged);
      expect(1500 * kMiB, MemoryKind::kPageable, MemoryKind::kPageable);
      expect(1100 * kMiB, MemoryKind::kPageable, MemoryKind::kPinned);
      expect(2100 * kMiB, MemoryKind::kPageable, MemoryKind::kDevice);
    } while (!done.load());
    answers.fetch_add(mine);
  };
  const auto write = [&](std::uintptr_t first, MemoryKind kind) {
    std::mt19937_64 random(first);
    for (int i = 0; i < 4'000; ++i) {
      const std::uintptr_t begin = (first + random() % 300) * kMiB;
      if (random() % 2 == 0) {
        table->add(begin, kMiB / 2, kind);
      } else {
        table->remove(begin);
      }
    }
  };
  std::vector<std::thread> readers;
  for (int i = 0; i < 2; ++i) readers.emplace_back(read);
  std::thread low([&] { write(1100, MemoryKind::kPinned); });
  std::thread high([&] { write(2100, MemoryKind::kDevice); });
  low.join();
  high.join();
  done.store(true);
  for (std::thread& reader : readers) reader.join();
  CHECK(wrong == 0);
  CHECK(answers > 0);
}

TEST_CASE("a recorder that comes late knows nothing of what was allocated before") {
  constexpr std::uintptr_t kMiB = 1U << 20;
  const auto table = std::make_unique<MemoryRanges>();
  table->add(10 * kMiB, kMiB, MemoryKind::kPinned);
  CHECK(table->kind_of(20 * kMiB) == MemoryKind::kPageable);
  table->begin_late();
  // It may have been freed, and used for something else since.
  CHECK(table->kind_of(10 * kMiB) == MemoryKind::kUnknown);
  CHECK(table->kind_of(20 * kMiB) == MemoryKind::kUnknown);
  table->add(30 * kMiB, kMiB, MemoryKind::kManaged);
  CHECK(table->kind_of(30 * kMiB) == MemoryKind::kManaged);
}

}  // namespace
}  // namespace synctrace::capture
