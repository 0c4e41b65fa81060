// SPDX-License-Identifier: Apache-2.0
// An array in mapped memory that can grow: a background thread inside a guest program does not use its allocator.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>

namespace synctrace::capture {

template <class Item>
class MappedArray {
 public:
  MappedArray() = default;
  MappedArray(const MappedArray&) = delete;
  MappedArray& operator=(const MappedArray&) = delete;
  ~MappedArray() {
    if (items_ != nullptr) munmap(items_, capacity_ * sizeof(Item));
  }

  // False when there is no memory; the contents stay.
  bool reserve(std::size_t wanted) noexcept {
    static_assert((sizeof(Item) & (sizeof(Item) - 1)) == 0, "a power of two: see capacity_");
    if (wanted <= capacity_) return true;
    const std::size_t bytes = (std::max(wanted, 2 * capacity_) * sizeof(Item) + 65535) & ~std::size_t{65535};
    void* memory = items_ == nullptr ? mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                                     : mremap(items_, capacity_ * sizeof(Item), bytes, MREMAP_MAYMOVE);
    if (memory == MAP_FAILED) return false;
    items_ = static_cast<Item*>(memory);
    capacity_ = bytes / sizeof(Item);
    return true;
  }

  bool add(const Item& item) noexcept {
    if (!reserve(count_ + 1)) return false;
    items_[count_++] = item;
    return true;
  }

  Item* data() const noexcept { return items_; }
  Item* begin() const noexcept { return items_; }
  Item* end() const noexcept { return items_ + count_; }
  std::size_t size() const noexcept { return count_; }
  std::size_t capacity() const noexcept { return capacity_; }
  // To at most capacity(): what lies there was added, or filled in through data().
  void resize(std::size_t count) noexcept { count_ = count; }
  // NOLINTNEXTLINE(clang-analyzer-core.uninitialized.UndefReturn): asked for items that were added, so pages are there
  Item& operator[](std::size_t index) const noexcept { return items_[index]; }

 private:
  Item* items_ = nullptr;
  std::size_t capacity_ = 0;  // items in the mapping, which is a multiple of 64 KiB and of the item's size
  std::size_t count_ = 0;
};

}  // namespace synctrace::capture
