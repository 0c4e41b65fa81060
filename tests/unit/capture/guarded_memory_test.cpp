// SPDX-License-Identifier: Apache-2.0
#include "capture/process/guarded_memory.h"

#include <sys/mman.h>

#include <array>
#include <vector>

#include "support/catch.h"

using namespace synctrace::capture;

namespace {

constexpr std::size_t kPageBytes = 4096;
constexpr std::size_t kPages = 40;
constexpr std::size_t kObjectBytes = 208;

std::uintptr_t pages() {
  void* memory = mmap(nullptr, kPages * kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  return reinterpret_cast<std::uintptr_t>(memory);
}

}  // namespace

TEST_CASE("objects that are read in one call are what memory holds, and stay so until the next walk") {
  if (!GuardedMemory::works()) return;  // where a container forbids it
  const std::uintptr_t memory = pages();
  GuardedMemory guarded;
  guarded.reset();
  std::vector<std::uintptr_t> objects;
  for (std::size_t i = 0; i < kPages; ++i) {
    objects.push_back(memory + i * kPageBytes + 64);
    *reinterpret_cast<std::uint64_t*>(objects.back() + 200) = i;
  }
  guarded.expect_all(objects, kObjectBytes);  // more than fit: the rest is read when it is loaded
  for (const std::uintptr_t object : objects) *reinterpret_cast<std::uint64_t*>(object + 200) = 1000;
  for (std::size_t i = 0; i < GuardedMemory::kObjects; ++i) CHECK(guarded.load<std::uint64_t>(objects[i] + 200) == i);
  CHECK(guarded.load<std::uint64_t>(objects[GuardedMemory::kObjects] + 200) == 1000);
  guarded.reset();
  CHECK(guarded.load<std::uint64_t>(objects[0] + 200) == 1000);
  CHECK_FALSE(guarded.failed());
  munmap(reinterpret_cast<void*>(memory), kPages * kPageBytes);
}

TEST_CASE("one object that is not there fails alone, when it is loaded") {
  if (!GuardedMemory::works()) return;  // where a container forbids it
  const std::uintptr_t memory = pages();
  const std::array objects{memory, memory + kPageBytes, memory + 2 * kPageBytes};
  *reinterpret_cast<std::uint64_t*>(objects[0]) = 7;
  *reinterpret_cast<std::uint64_t*>(objects[2]) = 9;
  REQUIRE(munmap(reinterpret_cast<void*>(objects[1]), kPageBytes) == 0);
  GuardedMemory guarded;
  guarded.reset();
  guarded.expect_all(objects, kObjectBytes);
  CHECK_FALSE(guarded.failed());
  CHECK(guarded.load<std::uint64_t>(objects[0]) == 7);
  CHECK(guarded.load<std::uint64_t>(objects[2]) == 9);
  CHECK_FALSE(guarded.failed());
  CHECK(guarded.load<std::uint64_t>(objects[1]) == 0);
  CHECK(guarded.failed());
  munmap(reinterpret_cast<void*>(objects[0]), kPageBytes);
  munmap(reinterpret_cast<void*>(objects[2]), (kPages - 2) * kPageBytes);
}

TEST_CASE("nothing to expect is no call") {
  GuardedMemory guarded;
  guarded.reset();
  guarded.expect_all({}, kObjectBytes);
  CHECK_FALSE(guarded.failed());
}
