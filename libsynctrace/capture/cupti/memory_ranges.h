// SPDX-License-Identifier: Apache-2.0
// Which addresses are device, pinned or managed memory, as seen in the allocation calls. What is in no range is
// pageable. This is how a copy's memory kinds are known without CUPTI's copy records, which cost 2.5 us each.
// Lookups are wait-free unless a change is under way; changes take a spin lock (they follow calls of 1 us and more).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "format/records.h"

namespace synctrace::capture {

class MemoryRanges {
 public:
  // Enough for frameworks with caching allocators (hundreds) and for most programs without. Beyond it the table
  // forgets nothing but learns nothing new: lookups answer kUnknown for addresses that no range holds.
  static constexpr std::size_t kCapacity = 16384;

  // Any thread.
  void add(std::uintptr_t begin, std::size_t bytes, format::MemoryKind kind) noexcept;
  void remove(std::uintptr_t begin) noexcept;

  // Kind of the memory at `address`: kPageable when no range holds it, kUnknown for a null address or when the table
  // could not keep up. Any thread.
  format::MemoryKind kind_of(std::uintptr_t address) const noexcept;

  // A recorder that comes late, again and again, begins: nothing is known of what was allocated before. From here on
  // what no range holds is kUnknown. One thread, while nothing is recorded.
  void begin_late() noexcept;

  // Ranges that found no place since the start.
  std::uint64_t overflow_count() const noexcept { return overflow_count_.load(std::memory_order_relaxed); }

 private:
  struct Range {
    std::atomic<std::uintptr_t> begin{0};
    std::atomic<std::uintptr_t> end{0};
    std::atomic<format::MemoryKind> kind{format::MemoryKind::kUnknown};
  };
  class Change;

  std::size_t upper_bound(std::uintptr_t address) const noexcept;

  // Sorted by begin. The version is odd while a change is under way; a lookup that saw it change starts again.
  std::atomic<std::uint64_t> version_{0};
  std::atomic<std::size_t> count_{0};
  std::atomic<std::uint64_t> overflow_count_{0};
  std::atomic<bool> is_partial_{false};  // ranges are missing
  std::atomic_flag lock_;
  Range ranges_[kCapacity];
};

// The recorder's.
[[gnu::visibility("hidden")]] extern MemoryRanges& memory_ranges;

}  // namespace synctrace::capture
