// SPDX-License-Identifier: Apache-2.0
// Copies this process's own memory through the kernel, so that a page that is not there is an answer and not a fault.
#pragma once

#include <cstddef>
#include <cstdint>

namespace synctrace::capture {

// False where some of it cannot be read. No lock, no allocation. Any thread, but off the event path: it opens a file
// where the kernel or a filter refuses process_vm_readv.
bool copy_memory(std::uintptr_t from, void* to, std::size_t bytes) noexcept;

template <class T>
bool copy_value(std::uintptr_t from, T& to) noexcept {
  return copy_memory(from, &to, sizeof(to));
}

}  // namespace synctrace::capture
