// SPDX-License-Identifier: Apache-2.0
#include "capture/unwind/thread_stack.h"

#include <pthread.h>
#include <signal.h>

#include <cerrno>
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

OwnStack found_here() {
  OwnStack stack;
  stack.find();
  return stack;
}

TEST_CASE("the main thread's stack holds its frames, and nothing else") {
  OwnStack stack = found_here();
  CHECK(stack.reaches(here()));
  const StackBounds told = told_by_pthread();
  CHECK(stack.bounds().begin > told.begin - (1U << 20));
  CHECK(stack.bounds().end > told.end - (1U << 20));  // only arguments and environment lie above it
  CHECK_FALSE(stack.reaches(reinterpret_cast<std::uintptr_t>(&told_by_pthread)));
  const std::vector<int> on_the_heap(1000);
  CHECK_FALSE(stack.reaches(reinterpret_cast<std::uintptr_t>(on_the_heap.data())));
}

TEST_CASE("a thread's stack is held from its upper end down to what was asked for") {
  OwnStack stack;
  StackBounds told;
  bool held_at_first = true;
  bool reaches = false;
  bool holds_then = false;
  std::uintptr_t asked = 0;
  std::thread([&] {
    stack.find();
    told = told_by_pthread();
    asked = here();
    held_at_first = stack.holds(asked);
    reaches = stack.reaches(asked);
    holds_then = stack.holds(asked);
  }).join();
  CHECK_FALSE(held_at_first);
  CHECK(reaches);
  CHECK(holds_then);
  CHECK(stack.bounds().begin > asked - 8192);
  CHECK(stack.bounds().begin <= asked);
  CHECK(stack.bounds().end <= told.end);
  CHECK(stack.bounds().end > told.end - 65536);
}

__attribute__((noinline)) bool reaches_below(OwnStack& stack, std::size_t bytes) {
  auto* frame = static_cast<volatile char*>(__builtin_alloca(bytes));
  frame[0] = 1;
  return stack.reaches(reinterpret_cast<std::uintptr_t>(frame));
}

TEST_CASE("a thread's bounds follow its stack down, over pages that were never touched") {
  bool first = false;
  bool second = false;
  std::thread([&] {
    OwnStack stack = found_here();
    first = reaches_below(stack, 100'000);
    second = reaches_below(stack, 1'000'000);
  }).join();
  CHECK(first);
  CHECK(second);
}

TEST_CASE("what lies beyond a thread's guard page is not its stack, nor asked for again") {
  bool beyond = true;
  bool again = true;
  std::thread([&] {
    OwnStack stack = found_here();
    const StackBounds told = told_by_pthread();
    // The stack of another thread may be mapped right below.
    beyond = stack.reaches(told.begin - (1U << 16));
    again = stack.reaches(told.begin - (1U << 20));
  }).join();
  CHECK_FALSE(beyond);
  CHECK_FALSE(again);
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
    bool is_held = false;
    const auto run = [](void* into) -> void* {
      OwnStack stack = found_here();
      *static_cast<bool*>(into) = stack.reaches(here());
      return nullptr;
    };
    REQUIRE(pthread_create(&thread, &attributes, run, &is_held) == 0);
    pthread_join(thread, nullptr);
    pthread_attr_destroy(&attributes);
    CHECK(is_held);
  }
}

TEST_CASE("asking what can be read leaves errno and the signals as they were") {
  sigset_t before;
  sigset_t after;
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  errno = 1234;
  OwnStack stack = found_here();
  static_cast<void>(stack.reaches(here()));
  CHECK(errno == 1234);
  pthread_sigmask(SIG_SETMASK, nullptr, &after);
  for (int signal = 1; signal < 64; ++signal) CHECK(sigismember(&before, signal) == sigismember(&after, signal));
}

}  // namespace
}  // namespace synctrace::capture
