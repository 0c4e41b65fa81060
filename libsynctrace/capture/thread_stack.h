// SPDX-License-Identifier: Apache-2.0
// Where the calling thread's own stack lies. pthread_getattr_np tells that too, but it allocates, and the question is
// asked inside calls of the program that may hold its allocator's lock. Here the kernel's list of mappings is read.
#pragma once

#include <cstdint>

namespace synctrace::capture {

struct StackBounds {
  std::uintptr_t begin = 0;  // addresses [begin, end)
  std::uintptr_t end = 0;
  bool holds(std::uintptr_t address) const noexcept { return address - begin < end - begin; }
};

// Of the thread's own stack, also while it runs on another one (fibres, signal stacks); empty when it cannot be told.
// Takes a millisecond in a process with thousands of mappings; a stack that a later thread gets again is remembered.
StackBounds own_stack() noexcept;

}  // namespace synctrace::capture
