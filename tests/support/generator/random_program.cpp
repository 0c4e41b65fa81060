// SPDX-License-Identifier: Apache-2.0
#include "support/generator/random_program.h"

#include <random>

namespace synctrace::testing::generator {
namespace {

class Maker {
 public:
  Maker(std::uint64_t seed, Nanoseconds scale, std::uint32_t steps)
      : random_(seed), scale_(scale), wanted_steps_(steps) {}

  Program make() {
    program_.machine.jitter_percent = chance(50) ? 20 : 0;
    const std::uint32_t devices = chance(25) ? 2 : 1;
    const std::uint32_t streams = devices + below(3);
    for (std::uint32_t i = 0; i < streams; ++i) program_.stream_devices.push_back(i < devices ? i : below(devices));
    program_.events = 3;
    program_.tokens = 2;
    const bool hand_off = chance(40);
    program_.threads.resize(hand_off ? 2 : 1);
    const std::uint32_t blocks = 2 + below(4);
    std::vector<std::uint32_t> shapes;
    for (std::uint32_t i = 0; i < blocks; ++i) shapes.push_back(below(12));
    const std::uint32_t any_steps = 3 + below(4);
    const std::uint32_t steps = wanted_steps_ == 0 ? any_steps : wanted_steps_;
    for (std::uint32_t step = 0; step < steps; ++step) {
      add(0, {Act::kStep, 0});
      for (std::uint32_t i = 0; i < blocks; ++i) add_block(0, i, shapes[i]);
      if (hand_off) hand_over(blocks);
    }
    return std::move(program_);
  }

 private:
  std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>(random_() % bound); }
  bool chance(std::uint32_t percent) { return below(100) < percent; }
  Nanoseconds between(Nanoseconds low, Nanoseconds high) {
    return low + static_cast<Nanoseconds>(random_() % static_cast<std::uint64_t>(high - low));
  }
  Nanoseconds host_ns() { return scale_ * (chance(30) ? between(800'000, 3'000'000) : between(60'000, 400'000)); }
  Nanoseconds kernel_ns() { return chance(40) ? between(500'000, 3'000'000) : between(10'000, 200'000); }
  std::uint32_t any_stream() { return below(static_cast<std::uint32_t>(program_.stream_devices.size())); }

  // The same line of a function for the same step of the program.
  std::uint32_t place(std::uint32_t function, std::uint32_t line, bool loader = false, bool collector = false) {
    for (std::uint32_t i = 0; i < program_.places.size(); ++i) {
      const Place& known = program_.places[i];
      if (known.function == function && known.line == line && known.loader == loader && known.collector == collector)
        return i;
    }
    program_.places.push_back({function, line, loader, collector});
    return static_cast<std::uint32_t>(program_.places.size() - 1);
  }

  void add(std::uint32_t thread, Action action) { program_.threads[thread].push_back(action); }
  void compute(std::uint32_t thread, std::uint32_t function, std::uint32_t line) {
    add(thread, {Act::kCompute, place(function, line), host_ns()});
  }
  void launches(std::uint32_t thread, std::uint32_t function, std::uint32_t stream) {
    for (std::uint32_t i = 1 + below(4); i > 0; --i) {
      add(thread, {Act::kLaunch, place(function, 10), 0, kernel_ns(), stream});
      if (chance(30)) compute(thread, function, 11);
    }
  }

  void add_block(std::uint32_t thread, std::uint32_t block, std::uint32_t shape);
  void waits(std::uint32_t thread, std::uint32_t function, std::uint32_t stream);
  void across_streams(std::uint32_t thread, std::uint32_t function, std::uint32_t stream);
  void burst(std::uint32_t thread, std::uint32_t function, std::uint32_t stream);
  void hand_over(std::uint32_t function);

  std::mt19937_64 random_;
  Nanoseconds scale_;
  std::uint32_t wanted_steps_;
  Program program_;
};

void Maker::waits(std::uint32_t thread, std::uint32_t function, std::uint32_t stream) {
  constexpr Act kWaits[] = {Act::kStreamSync, Act::kStreamSync, Act::kDeviceSync,
                            Act::kFree,       Act::kPoll,       Act::kGpuSleep};
  const Act act = kWaits[below(6)];
  launches(thread, function, stream);
  if (chance(50)) compute(thread, function, 20);
  add(thread, {act, place(function, 30), act == Act::kFree ? 40'000 : 0, 0, stream});
  if (chance(30)) add(thread, {Act::kStreamSync, place(function, 31), 0, 0, stream});
  compute(thread, function, 40);
}

void Maker::across_streams(std::uint32_t thread, std::uint32_t function, std::uint32_t stream) {
  const std::uint32_t event = below(program_.events);
  const std::uint32_t other = any_stream();
  if (chance(60)) {
    add(thread, {Act::kCopy, place(function, 10), 0, kernel_ns(), stream});
  } else {
    launches(thread, function, stream);
  }
  add(thread, {Act::kRecord, place(function, 15), 0, 0, stream, event});
  add(thread, {Act::kWaitEvent, place(function, 16), 0, 0, other, event});
  add(thread, {Act::kLaunch, place(function, 17), 0, kernel_ns(), other});
  if (chance(40)) add(thread, {Act::kEventSync, place(function, 18), 0, 0, stream, event});
  compute(thread, function, 20);
}

void Maker::burst(std::uint32_t thread, std::uint32_t function, std::uint32_t stream) {
  compute(thread, function, 5);
  const std::uint32_t count = 12 + below(20);
  for (std::uint32_t i = 0; i < count; ++i) {
    add(thread, {Act::kBurstLaunch, place(function, 10), i + 1 < count ? between(10'000, 40'000) : 0,
                 between(2'000, 6'000), stream});
  }
  compute(thread, function, 40);
}

void Maker::add_block(std::uint32_t thread, std::uint32_t block, std::uint32_t shape) {
  const std::uint32_t stream = any_stream();
  switch (shape) {
    case 0:
    case 1:
    case 2: return waits(thread, block, stream);
    case 3: return across_streams(thread, block, stream);
    case 4: return burst(thread, block, stream);
    case 5: add(thread, {Act::kLoad, place(block, 5, true), host_ns()}); return launches(thread, block, stream);
    case 6: add(thread, {Act::kCompute, place(block, 5, true), host_ns()}); return launches(thread, block, stream);
    case 7:
      launches(thread, block, stream);
      add(thread, {Act::kPageableCopy, place(block, 20), between(20'000, 90'000), between(50'000, 300'000), stream});
      return compute(thread, block, 21);
    case 8:
      add(thread, {Act::kAllocate, place(block, 5), between(50'000, 300'000)});
      launches(thread, block, stream);
      return compute(thread, block, 20);
    case 9:
      add(thread, {Act::kGraph, place(block, 10), 0, between(5'000, 40'000), stream, 0, 5 + below(10)});
      return compute(thread, block, 20);
    case 10:
      compute(thread, block, 5);
      add(thread, {Act::kCollect, place(block, 6, false, true), host_ns()});
      return launches(thread, block, stream);
    default:
      if (chance(20)) add(thread, {Act::kModule, place(block, 5), between(200'000, 2'000'000)});
      launches(thread, block, stream);
      return compute(thread, block, 20);
  }
}

// Works like autograd: the first thread posts, sleeps, and goes on when the other is done.
void Maker::hand_over(std::uint32_t function) {
  const std::uint32_t stream = any_stream();
  compute(0, function, 5);
  add(1, {Act::kBlock, place(function, 60), 0, 0, 0, 0});
  add(0, {Act::kPost, place(function, 6), 0, 0, 0, 0});
  compute(1, function, 61);
  launches(1, function, stream);
  if (chance(40)) add(1, {Act::kStreamSync, place(function, 62), 0, 0, stream});
  compute(1, function, 63);
  add(0, {Act::kBlock, place(function, 7), 0, 0, 0, 1});
  add(1, {Act::kPost, place(function, 64), 0, 0, 0, 1});
  compute(0, function, 8);
}

}  // namespace

Program random_program(std::uint64_t seed, Nanoseconds scale, std::uint32_t steps) {
  return Maker(seed, scale, steps).make();
}

}  // namespace synctrace::testing::generator
