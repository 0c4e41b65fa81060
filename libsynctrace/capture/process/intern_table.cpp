// SPDX-License-Identifier: Apache-2.0
#include "capture/process/intern_table.h"

#include <sys/mman.h>

namespace synctrace::capture {

void InternTable::release() noexcept {
  if (slots_ != nullptr) munmap(slots_, kSlots * sizeof(Entry));
  slots_ = nullptr;
}

InternTable::Answer InternTable::find_or_add(std::uint64_t hash) noexcept {
  if (slots_ == nullptr) {
    void* memory = mmap(nullptr, kSlots * sizeof(Entry), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
      ++refused_count_;
      return {};
    }
    slots_ = static_cast<Entry*>(memory);
  }
  for (std::size_t slot = hash % kSlots;; slot = (slot + 1) % kSlots) {
    Entry& entry = slots_[slot];
    if (entry.id == 0) {
      if (count_ == kMaxEntries) {
        ++refused_count_;
        return {};
      }
      entry = {hash, ++count_};
      return {count_, true};
    }
    if (entry.hash == hash) return {static_cast<std::uint32_t>(entry.id), false};
  }
}

}  // namespace synctrace::capture
