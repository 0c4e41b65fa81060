// SPDX-License-Identifier: Apache-2.0
#include "capture/process/copy_memory.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>

#include "capture/process/plain_syscalls.h"

namespace synctrace::capture {

// Containers may forbid the one call or lack the other's file, hardly both.
bool copy_memory(std::uintptr_t from, void* to, std::size_t bytes) noexcept {
  auto* into = static_cast<std::byte*>(to);
  while (bytes != 0) {
    const std::size_t piece = std::min<std::size_t>(bytes, 1U << 24);
    iovec local{into, piece};
    iovec remote{reinterpret_cast<void*>(from), piece};
    ssize_t got = plain_syscalls_only() ? -1 : process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
    if (got <= 0) {
      const int descriptor = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
      if (descriptor < 0) return false;
      got = pread(descriptor, into, piece, static_cast<off_t>(from));
      close(descriptor);
    }
    if (got <= 0) return false;
    from += static_cast<std::size_t>(got);
    into += got;
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

}  // namespace synctrace::capture
