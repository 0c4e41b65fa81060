// SPDX-License-Identifier: Apache-2.0
#include "capture/cupti/memory_ranges.h"

#include <sched.h>

namespace synctrace::capture {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

// A lookup gives up after so many disturbed attempts: better no answer than a CUDA call held up.
constexpr int kMaxAttempts = 64;

}  // namespace

// Holds the lock and keeps the version odd while it lives.
class MemoryRanges::Change {
 public:
  explicit Change(MemoryRanges& ranges) noexcept : ranges_(ranges) {
    while (ranges_.lock_.test_and_set(std::memory_order_acquire)) sched_yield();
    ranges_.version_.fetch_add(1, std::memory_order_acq_rel);
    std::atomic_thread_fence(std::memory_order_release);
  }
  ~Change() {
    ranges_.version_.fetch_add(1, std::memory_order_release);
    ranges_.lock_.clear(std::memory_order_release);
  }
  Change(const Change&) = delete;
  Change& operator=(const Change&) = delete;

  void move(std::size_t from, std::size_t to) noexcept {
    ranges_.ranges_[to].begin.store(ranges_.ranges_[from].begin.load(kRelaxed), kRelaxed);
    ranges_.ranges_[to].end.store(ranges_.ranges_[from].end.load(kRelaxed), kRelaxed);
    ranges_.ranges_[to].kind.store(ranges_.ranges_[from].kind.load(kRelaxed), kRelaxed);
  }

 private:
  MemoryRanges& ranges_;
};

// Index of the first range that begins after `address`.
std::size_t MemoryRanges::upper_bound(std::uintptr_t address) const noexcept {
  std::size_t low = 0;
  std::size_t high = count_.load(kRelaxed);
  if (high > kCapacity) high = kCapacity;
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (ranges_[middle].begin.load(kRelaxed) <= address) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

void MemoryRanges::add(std::uintptr_t begin, std::size_t bytes, format::MemoryKind kind) noexcept {
  if (begin == 0 || bytes == 0) return;
  Change change(*this);
  std::size_t index = upper_bound(begin);
  const bool replaces = index > 0 && ranges_[index - 1].begin.load(kRelaxed) == begin;
  if (replaces) {
    --index;
  } else {
    const std::size_t count = count_.load(kRelaxed);
    if (count == kCapacity) {
      overflow_count_.fetch_add(1, kRelaxed);
      is_partial_.store(true, kRelaxed);
      return;
    }
    for (std::size_t i = count; i > index; --i) change.move(i - 1, i);
    count_.store(count + 1, kRelaxed);
  }
  ranges_[index].begin.store(begin, kRelaxed);
  ranges_[index].end.store(begin + bytes, kRelaxed);
  ranges_[index].kind.store(kind, kRelaxed);
}

void MemoryRanges::remove(std::uintptr_t begin) noexcept {
  if (begin == 0) return;
  Change change(*this);
  const std::size_t after = upper_bound(begin);
  if (after == 0 || ranges_[after - 1].begin.load(kRelaxed) != begin) return;
  const std::size_t count = count_.load(kRelaxed);
  for (std::size_t i = after; i < count; ++i) change.move(i, i - 1);
  count_.store(count - 1, kRelaxed);
}

void MemoryRanges::begin_late() noexcept {
  const Change change(*this);
  count_.store(0, kRelaxed);
  overflow_count_.store(0, kRelaxed);
  is_partial_.store(true, kRelaxed);
}

// At the begin of a cache line: the same instructions take 14 % longer a quarter of a line later.
[[gnu::aligned(64)]] format::MemoryKind MemoryRanges::kind_of(std::uintptr_t address) const noexcept {
  if (address == 0) return format::MemoryKind::kUnknown;
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    const std::uint64_t before = version_.load(std::memory_order_acquire);
    if ((before & 1) != 0) continue;
    const std::size_t after = upper_bound(address);
    format::MemoryKind kind = is_partial_.load(kRelaxed) ? format::MemoryKind::kUnknown : format::MemoryKind::kPageable;
    if (after > 0 && address < ranges_[after - 1].end.load(kRelaxed)) kind = ranges_[after - 1].kind.load(kRelaxed);
    std::atomic_thread_fence(std::memory_order_acquire);
    if (version_.load(kRelaxed) == before) return kind;
  }
  return format::MemoryKind::kUnknown;
}

}  // namespace synctrace::capture
