// SPDX-License-Identifier: Apache-2.0
// Stack shapes for native_unwind_test.cpp, compiled at several optimization levels under the name SHAPES, and without
// frame pointers. Each function ends in a call of `visit` from within the shape that it is named after.
#include "native_unwind_shapes.h"

#include <alloca.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <utility>
#include <vector>

namespace synctrace::test::SHAPES {
namespace {

volatile int sink = 0;
Visit* current = nullptr;

[[gnu::noinline]] void recurse(int depth, Visit& visit) {
  if (depth == 0) {
    visit();
  } else {
    recurse(depth - 1, visit);
  }
  sink = sink + 1;
}

[[gnu::noinline]] void with_alloca(std::size_t bytes, Visit& visit) {
  auto* memory = static_cast<char*>(alloca(bytes));
  std::memset(memory, 1, bytes);
  visit();
  sink = sink + memory[bytes / 2];
}

[[gnu::noinline]] void realigned(Visit& visit) {
  alignas(64) volatile char line[64] = {};
  visit();
  line[1] = 2;
  sink = sink + line[1];
}

// Realigned with a stack of unknown size: the CFA can only be saved in memory.
[[gnu::noinline]] void realigned_with_alloca(std::size_t bytes, Visit& visit) {
  alignas(64) volatile char line[64] = {};
  auto* memory = static_cast<char*>(alloca(bytes));
  std::memset(memory, 1, bytes);
  visit();
  sink = sink + memory[0] + line[3];
}

[[gnu::noinline]] void large_frame(Visit& visit) {
  volatile char memory[100'000];
  memory[77] = 1;
  visit();
  sink = sink + memory[77];
}

[[gnu::noinline]] void tail_called(Visit& visit) {
  visit();
  sink = sink + 1;
}
[[gnu::noinline]] void tail_calls(Visit& visit) { return tail_called(visit); }

// The call is the last instruction: its return address belongs to whatever function follows.
[[noreturn, gnu::noinline]] void never_returns(Visit& visit) {
  visit();
  throw std::runtime_error("as meant");
}
[[noreturn, gnu::noinline]] void ends_in_noreturn_call(Visit& visit) { never_returns(visit); }

int compare_and_visit(const void* a, const void* b) {
  Visit* visit = current;
  current = nullptr;
  if (visit != nullptr) (*visit)();
  return *static_cast<const int*>(a) - *static_cast<const int*>(b);
}

struct VisitsWhenDestroyed {
  Visit& visit;
  ~VisitsWhenDestroyed() { visit(); }
};

[[gnu::noinline]] void throws_through(Visit& visit) {
  const VisitsWhenDestroyed guard{visit};
  throw std::runtime_error("in flight");
}

}  // namespace

void all(Visit& visit) {
  recurse(3, visit);
  recurse(200, visit);
  with_alloca(static_cast<std::size_t>(1000 + sink % 2), visit);
  realigned(visit);
  realigned_with_alloca(static_cast<std::size_t>(500 + sink % 2), visit);
  large_frame(visit);
  tail_calls(visit);
  try {
    ends_in_noreturn_call(visit);
  } catch (const std::runtime_error&) {
    visit();
  }
  try {
    throws_through(visit);
  } catch (const std::runtime_error&) {
  }

  std::array<int, 40> numbers{};
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int>(i * 7919 % 41);
  current = &visit;
  std::qsort(numbers.data(), numbers.size(), sizeof(int), compare_and_visit);
  std::vector<int> sorted(numbers.rbegin(), numbers.rend());
  bool first = true;
  std::sort(sorted.begin(), sorted.end(), [&](int a, int b) {
    if (std::exchange(first, false)) visit();
    return a < b;
  });
  const std::function<void(int)> nested = [&](int depth) { depth == 0 ? visit() : nested(depth - 1); };
  nested(5);
}

}  // namespace synctrace::test::SHAPES
