// SPDX-License-Identifier: Apache-2.0
// "Seen before?" for texts and launch shapes: a fixed open-addressing table from 64-bit hash to id. It keeps no copy
// of what it names: with at most 2^18 entries two different texts share a hash with a probability below 2^-28.
// Memory is touched as it fills. Drain thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace synctrace::capture {

// A multiply-and-fold hash, eight bytes a step: mangled kernel names run to hundreds of characters.
inline std::uint64_t hash_bytes(const void* data, std::size_t bytes) noexcept {
  const auto fold = [](std::uint64_t a, std::uint64_t b) {
    const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  };
  constexpr std::uint64_t kOdd1 = 0x9e3779b97f4a7c15;  // 2^64 / golden ratio
  constexpr std::uint64_t kOdd2 = 0xc2b2ae3d27d4eb4f;
  const char* at = static_cast<const char*>(data);
  std::uint64_t state = kOdd1 ^ (bytes * kOdd2);  // spread, or a length would pass for a first byte
  std::size_t left = bytes;
  for (; left >= 8; left -= 8, at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, 8);
    state = fold(state ^ word, kOdd2);
  }
  std::uint64_t tail = 0;
  if (left != 0) std::memcpy(&tail, at, left);
  return fold(fold(state ^ tail, kOdd2) ^ kOdd1, kOdd1);
}

class InternTable {
 public:
  static constexpr std::uint32_t kMaxEntries = 1U << 18;

  struct Answer {
    std::uint32_t id = 0;  // 1, 2, 3... in order of first sight; 0 when the table is full
    bool is_new = false;
  };

  // Maps the table on first use; every answer is {0, false} when that fails.
  Answer find_or_add(std::uint64_t hash) noexcept;

  // Gives its memory back; it is of no use any more.
  void release() noexcept;

  std::uint64_t refused_count() const noexcept { return refused_count_; }

 private:
  struct Entry {
    std::uint64_t hash;
    std::uint64_t id;  // 0: free
  };
  static constexpr std::size_t kSlots = 2 * std::size_t{kMaxEntries};

  Entry* slots_ = nullptr;
  std::uint32_t count_ = 0;
  std::uint64_t refused_count_ = 0;
};

}  // namespace synctrace::capture
