// SPDX-License-Identifier: Apache-2.0
// Who signalled an address last, and when: how the end of a wait finds its waker. Any thread may note and ask at any
// time, also in a signal handler: there is no lock and nothing to be left half done. Addresses share a bounded number
// of slots; the later one stays.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/ids.h"

namespace synctrace::capture {

struct Wake {
  ThreadId thread{};  // zero: none was seen
  std::uint64_t ticks = 0;
};

// A slot is two words, the ticks and (thread, check). The check is a hash of address, ticks and thread, so a slot says
// nothing about another address, and a mix of what two threads stored at once is seen as nothing at all.
class WakeTable {
 public:
  void note(std::uintptr_t address, ThreadId thread, std::uint64_t ticks) noexcept {
    Slot& slot = slot_of(address);
    slot.ticks.store(ticks, std::memory_order_relaxed);
    slot.thread_and_check.store(check_of(address, thread, ticks), std::memory_order_relaxed);
  }

  // The last signal to the address, if it was given in [begin, end].
  Wake find(std::uintptr_t address, std::uint64_t begin_ticks, std::uint64_t end_ticks) noexcept {
    const Slot& slot = slot_of(address);
    const std::uint64_t ticks = slot.ticks.load(std::memory_order_relaxed);
    const std::uint64_t word = slot.thread_and_check.load(std::memory_order_relaxed);
    const auto thread = static_cast<ThreadId>(word >> kCheckBits);
    if (ticks - begin_ticks > end_ticks - begin_ticks || word != check_of(address, thread, ticks)) return {};
    return {thread, ticks};
  }

 private:
  // Linux numbers threads below 2^22.
  static constexpr int kCheckBits = 42;
  static constexpr std::size_t kSlotBits = 12;
  static constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;  // 2^64 / golden ratio

  struct Slot {
    std::atomic<std::uint64_t> ticks{0};
    std::atomic<std::uint64_t> thread_and_check{0};
  };

  Slot& slot_of(std::uintptr_t address) noexcept { return slots_[(address * kOdd) >> (64 - kSlotBits)]; }

  static std::uint64_t check_of(std::uintptr_t address, ThreadId thread, std::uint64_t ticks) noexcept {
    std::uint64_t hash = (address ^ ticks * kOdd ^ number(thread)) * kOdd;
    hash ^= hash >> 32;
    hash *= kOdd;
    return std::uint64_t{number(thread)} << kCheckBits | hash >> (64 - kCheckBits);
  }

  std::array<Slot, std::size_t{1} << kSlotBits> slots_{};
};

}  // namespace synctrace::capture
