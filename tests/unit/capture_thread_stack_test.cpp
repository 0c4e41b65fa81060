// SPDX-License-Identifier: Apache-2.0
#include "capture/thread_stack.h"

#include <pthread.h>
#include <sys/auxv.h>

#include <thread>
#include <vector>

#include "support/catch.h"

namespace synctrace::capture {
namespace {

// What the C library says, and may say at its own cost.
StackBounds told_by_pthread() {
  pthread_attr_t attributes;
  REQUIRE(pthread_getattr_np(pthread_self(), &attributes) == 0);
  void* begin = nullptr;
  std::size_t bytes = 0;
  pthread_attr_getstack(&attributes, &begin, &bytes);
  pthread_attr_destroy(&attributes);
  return {reinterpret_cast<std::uintptr_t>(begin), reinterpret_cast<std::uintptr_t>(begin) + bytes};
}

std::uintptr_t here() { return reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)); }

TEST_CASE("the main thread's stack holds its frames and what the kernel put above them") {
  const StackBounds stack = own_stack();
  CHECK(stack.holds(here()));
  // pthread leaves out the environment, which lies behind the frames; the program's name is the last thing.
  CHECK(stack.end >= told_by_pthread().end);
  const auto name = static_cast<std::uintptr_t>(getauxval(AT_EXECFN));
  CHECK(stack.holds(name));
  CHECK(stack.end - name < 8192);
  CHECK_FALSE(stack.holds(reinterpret_cast<std::uintptr_t>(&told_by_pthread)));
}

TEST_CASE("a thread's stack lies inside of what pthread says, and is the same when asked again") {
  for (int round = 0; round < 3; ++round) {  // later threads get the stack of earlier ones
    StackBounds first;
    StackBounds second;
    StackBounds told;
    bool holds = false;
    std::thread([&] {
      first = own_stack();
      second = own_stack();
      told = told_by_pthread();
      holds = first.holds(here());
    }).join();
    CHECK(holds);
    CHECK(first.begin >= told.begin);
    CHECK(first.begin <= told.begin + 65536);  // the guard may be in it
    CHECK(first.end <= told.end);
    CHECK(first.end > told.end - 65536);
    CHECK(second.begin == first.begin);
    CHECK(second.end == first.end);
  }
}

TEST_CASE("a stack that the program made itself, and a later one of another size at its upper end") {
  constexpr std::size_t kLarge = 1U << 20;
  std::vector<std::byte> memory(kLarge + 65536);
  auto* base =
      reinterpret_cast<std::byte*>((reinterpret_cast<std::uintptr_t>(memory.data()) + 65535) & ~std::uintptr_t{65535});
  for (const std::size_t bytes : {kLarge / 4, kLarge}) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    REQUIRE(pthread_attr_setstack(&attributes, base + kLarge - bytes, bytes) == 0);
    pthread_t thread;
    bool holds = false;
    const auto run = [](void* into) -> void* {
      *static_cast<bool*>(into) = own_stack().holds(here());
      return nullptr;
    };
    REQUIRE(pthread_create(&thread, &attributes, run, &holds) == 0);
    pthread_join(thread, nullptr);
    pthread_attr_destroy(&attributes);
    CHECK(holds);
  }
}

}  // namespace
}  // namespace synctrace::capture
