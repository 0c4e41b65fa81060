// SPDX-License-Identifier: Apache-2.0
// A thread's table from a 64-bit hash to an id: open addressing, never more than three quarters full, of fixed size.
// Zeroed memory is an empty table, so a mapping of it costs nothing until it is used.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace synctrace::capture {

// A hash, with two more words.
inline std::uint64_t mix_hash(std::uint64_t hash, std::uint64_t a, std::uint64_t b) noexcept {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;  // 2^64 / golden ratio
  const unsigned __int128 product = static_cast<unsigned __int128>(hash ^ a) * (b ^ kOdd);
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

template <std::size_t kSlots>
class IdTable {
 public:
  struct Slot {
    std::uint64_t hash;
    std::uint32_t id;  // 0: free
  };

  // The slot of `hash`, free or not; nullptr when it is not there and the table is full.
  Slot* find(std::uint64_t hash) noexcept {
    for (std::size_t i = hash % kSlots;; i = (i + 1) % kSlots) {
      Slot& slot = slots_[i];
      if (slot.id != 0 && slot.hash == hash) return &slot;
      if (slot.id == 0) return used_ < kSlots / 4 * 3 ? &slot : nullptr;
    }
  }
  void fill(Slot& slot, std::uint64_t hash, std::uint32_t id) noexcept {
    slot = {hash, id};
    ++used_;
  }

  void clear() noexcept {
    if (used_ != 0) *this = {};
  }

 private:
  std::array<Slot, kSlots> slots_;
  std::size_t used_;
};

}  // namespace synctrace::capture
