// SPDX-License-Identifier: Apache-2.0
#include "capture/unwind/known_walks.h"

#include <alloca.h>
#include <dlfcn.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "capture/unwind/native_unwind.h"
#include "capture/unwind/unwind_table.h"
#include "native_unwind_shapes.h"
#include "prepared_unwinder.h"
#include "support/catch.h"

namespace {

using namespace synctrace;
using namespace synctrace::capture;

// Wherever it is called: a walk that is known is made all the same, and must find what the one found that got the name.
class MakeKnownWalksAnew : public test::Visit {
 public:
  [[gnu::noinline]] void operator()() override {
    const WalkStart start = walk_start();
    const std::uint64_t name = known_walk(start);
    const Walk walk = walk_from(start, frames_);
    starts.push_back(start);
    if (name != 0) {
      ++known;
      wrong += is_named(name, walk) ? 0 : 1;
      return;
    }
    named_.emplace_back(frames_.begin(), frames_.begin() + static_cast<std::ptrdiff_t>(walk.count));
    name_walk(named_.size());
    ++unknown;
    refused += known_walk(start) == named_.size() ? 0 : 1;
  }

  std::vector<WalkStart> starts;
  int known = 0;
  int wrong = 0;
  int unknown = 0;
  int refused = 0;  // not known although just named

 private:
  bool is_named(std::uint64_t name, const Walk& walk) const {
    const std::vector<NativeFrame>& then = named_[name - 1];
    return std::equal(then.begin(), then.end(), frames_.begin(),
                      frames_.begin() + static_cast<std::ptrdiff_t>(walk.count),
                      [](const NativeFrame& a, const NativeFrame& b) { return a.pc == b.pc && a.cfa == b.cfa; });
  }

  std::array<NativeFrame, 256> frames_{};
  std::vector<std::vector<NativeFrame>> named_;
};

TEST_CASE("A walk is known the second time, in every shape, at every optimization level") {
  for (void (*const shapes)(test::Visit&) : {test::shapes_o0::all, test::shapes_o2::all, test::shapes_o3::all}) {
    const test::PreparedUnwinder prepared;
    MakeKnownWalksAnew visit;
    volatile int rounds = 2;  // so that both call from the same place
    while (rounds > 0) {
      shapes(visit);
      rounds = rounds - 1;
    }
    CHECK(visit.known + visit.unknown == 2 * 13);
    // One shape has more words than are kept, and one a frame of another size the second time, with gcc. One may have
    // lost its place: five in one of 64 sets, which addresses choose.
    CHECK(visit.known <= 13 - 1);
    CHECK(visit.known >= 13 - 3);
    CHECK(visit.wrong == 0);
    CHECK(visit.refused == 2);
  }
}

volatile int sink = 0;

[[gnu::noinline]] void left(unsigned turns, test::Visit& visit);

[[gnu::noinline]] void right(unsigned turns, test::Visit& visit) {
  if (turns == 1) {
    visit();
  } else {
    (turns % 2 == 0 ? left : right)(turns / 2, visit);
  }
  sink = sink + 1;
}

void left(unsigned turns, test::Visit& visit) {
  if (turns == 1) {
    visit();
  } else {
    (turns % 2 == 0 ? left : right)(turns / 2, visit);
  }
  sink = sink + 2;
}

TEST_CASE("Walks that differ only in their callers are told apart") {
  const test::PreparedUnwinder prepared;
  MakeKnownWalksAnew visit;
  std::minstd_rand random(1);
  const auto one_of = [&](unsigned count) { return static_cast<unsigned>(random()) % count; };
  for (int i = 0; i < 3000; ++i) left(256 + one_of(256), visit);  // eight deep
  for (int i = 0; i < 3000; ++i) left(256 + one_of(4) * 64, visit);
  CHECK(std::all_of(visit.starts.begin(), visit.starts.end(),
                    [&](const WalkStart& start) { return start == visit.starts.front(); }));
  CHECK(visit.wrong == 0);
  CHECK(visit.refused == 0);
  CHECK(visit.known > 2900);
  CHECK(visit.unknown > 2000);
}

TEST_CASE("Of more walks than have a place, which come one behind the other, some are known") {
  const test::PreparedUnwinder prepared;
  MakeKnownWalksAnew visit;
  for (unsigned i = 0; i < 1000; ++i) left(256 + i % 6 * 32, visit);
  CHECK(visit.wrong == 0);
  CHECK(visit.known > 200);
}

// Has a frame pointer of its own, and so keeps its caller's in memory.
[[gnu::noinline]] void with_frame_pointer(test::Visit& visit) {
  static volatile std::size_t bytes = 32;
  auto* room = static_cast<volatile char*>(alloca(bytes));
  visit();
  sink = sink + room[0];
}

// A frame of any size, found by its frame pointer; what lies in it is left as it was.
[[gnu::noinline]] void with_room(std::size_t bytes, test::Visit& visit) {
  auto* room = static_cast<volatile char*>(alloca(bytes));
  with_frame_pointer(visit);
  sink = sink + room[0];
}

// Larger than what with_room() writes into its own frame.
[[gnu::noinline]] void one_deeper(std::size_t bytes, test::Visit& visit) {
  volatile char unused[128];
  unused[0] = 1;
  with_room(bytes, visit);
  sink = sink + unused[0];
}

// One call calls both, and nothing is called in between: all return addresses of the first still lie where they did
// when the second has the same stack pointer.
[[gnu::noinline]] void deeper_and_straight(std::size_t bytes, test::Visit& visit) {
  struct {
    void (*call)(std::size_t, test::Visit&);
    std::size_t bytes;
  } volatile const ways[] = {{one_deeper, 64}, {with_room, bytes}};
  volatile std::size_t way = 0;
  while (way < std::size(ways)) {
    ways[way].call(ways[way].bytes, visit);
    way = way + 1;
  }
}

TEST_CASE("Return addresses that nobody returns to any more do not make a walk known") {
  const test::PreparedUnwinder prepared;
  MakeKnownWalksAnew visit;
  int same_starts = 0;
  for (std::size_t bytes = 64; bytes < 512; bytes += 16) {
    visit.starts.clear();
    deeper_and_straight(bytes, visit);
    same_starts += visit.starts.at(0).sp == visit.starts.at(1).sp ? 1 : 0;
  }
  CHECK(same_starts > 0);
  CHECK(visit.wrong == 0);
  CHECK(visit.refused == 0);
}

TEST_CASE("Another map of modules makes every walk unknown") {
  const test::PreparedUnwinder prepared;
  MakeKnownWalksAnew visit;
  for (int i = 0; i < 3; ++i) {
    void* library = i == 1 ? dlopen(SYNCTRACE_PROBE, RTLD_NOW | RTLD_LOCAL) : nullptr;
    if (library != nullptr) {
      REQUIRE(module_map.refresh());
      build_missing_tables(module_map);
    }
    visit();
    CHECK(visit.unknown == (i == 0 ? 1 : 2));
    CHECK(visit.refused == 0);
    if (library != nullptr) dlclose(library);
  }
  CHECK(visit.known == 1);
  module_map.refresh();
}

std::unique_ptr<MakeKnownWalksAnew> in_handler;

TEST_CASE("A walk from what a signal interrupted is not known") {
  const test::PreparedUnwinder prepared;
  in_handler = std::make_unique<MakeKnownWalksAnew>();
  struct sigaction action {};
  struct sigaction old_action {};
  action.sa_handler = [](int) { (*in_handler)(); };
  REQUIRE(sigaction(SIGUSR1, &action, &old_action) == 0);
  for (int i = 0; i < 3; ++i) raise(SIGUSR1);
  sigaction(SIGUSR1, &old_action, nullptr);
  CHECK(in_handler->known == 0);
  CHECK(in_handler->refused == 3);
}

TEST_CASE("A name is given to the walk made last only") {
  const test::PreparedUnwinder prepared;
  std::array<NativeFrame, 256> frames{};
  const WalkStart start = walk_start();
  name_walk(1);
  CHECK(known_walk(start) == 0);
  walk_from(start, frames);
  walk_here(frames);
  name_walk(2);
  CHECK(known_walk(start) == 0);
  walk_from(start, std::span(frames).first(2));  // not to the root
  name_walk(3);
  CHECK(known_walk(start) == 0);
  walk_from(start, frames);
  name_walk(0);
  CHECK(known_walk(start) == 0);
  name_walk(4);
  CHECK(known_walk(start) == 4);
}

TEST_CASE("What a walk read holds until one word differs") {
  std::array<std::uintptr_t, WalkReads::kMaxWords + 1> stack{};
  const auto address = [&](std::size_t i) { return reinterpret_cast<std::uintptr_t>(&stack[i]); };
  WalkReads reads{};
  reads.begin(address(0));
  for (std::size_t i = 0; i < WalkReads::kMaxWords; ++i) reads.add(address(i), stack[i] = i * i);
  REQUIRE(reads.is_whole());
  CHECK(reads.hold());
  WalkReads copy{};
  copy.copy(reads);
  for (std::size_t i = 0; i < WalkReads::kMaxWords; ++i) {
    stack[i] ^= std::uintptr_t{1} << 63;
    CHECK(!reads.hold());
    CHECK(!copy.hold());
    stack[i] ^= std::uintptr_t{1} << 63;
  }
  CHECK(copy.hold());
  reads.add(address(WalkReads::kMaxWords), 0);
  CHECK(!reads.is_whole());
  reads.begin(address(1));
  CHECK(reads.is_whole());
  reads.add(address(0), 0);  // below the start
  CHECK(!reads.is_whole());
}

}  // namespace
