// SPDX-License-Identifier: Apache-2.0
//
// Who owns which address. Device memory is host memory, so that copies can really move bytes.
// Has its own lock, below the timeline's: effects of finished work may call in here.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/api_call.h"

namespace synctrace::simgpu {

struct Allocation {
  enum class Kind { device, managed, pinned, registered };
  std::size_t bytes = 0;
  Kind kind = Kind::device;
  int device = 0;
  unsigned flags = 0;
};

struct Located {
  bool known = false;  // false: ordinary, pageable host memory
  const void* base = nullptr;
  Allocation allocation;

  bool on_device() const { return known && allocation.kind == Allocation::Kind::device; }
  bool managed() const { return known && allocation.kind == Allocation::Kind::managed; }
};

// Zero-filled pages of the process, not resident until touched; null when there are none.
void* map_memory(std::size_t bytes);
void unmap_memory(void* address, std::size_t bytes);

void track_allocation(const void* base, const Allocation& allocation);
// Forgets the allocation that starts at `base`; its description, or known = false.
Located forget_allocation(const void* base);
// The allocation that `address` lies in.
Located locate(const void* address);

}  // namespace synctrace::simgpu
