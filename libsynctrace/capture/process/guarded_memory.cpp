// SPDX-License-Identifier: Apache-2.0
#include "capture/process/guarded_memory.h"

#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "capture/process/plain_syscalls.h"

namespace synctrace::capture {
namespace {

// How much could be read; errno stays as it was.
std::size_t read_own_memory(std::uintptr_t from, void* to, std::size_t bytes) noexcept {
  const int saved = errno;
  const iovec local{to, bytes};
  const iovec remote{reinterpret_cast<void*>(from), bytes};
  const long got = syscall(SYS_process_vm_readv, syscall(SYS_getpid), &local, 1UL, &remote, 1UL, 0UL);
  errno = saved;
  return got > 0 ? static_cast<std::size_t>(got) : 0;
}

}  // namespace

bool GuardedMemory::works() noexcept {
  if (plain_syscalls_only()) return false;
  const std::uint64_t here = 0x5eed;
  std::uint64_t copy = 0;
  return read_own_memory(reinterpret_cast<std::uintptr_t>(&here), &copy, sizeof(copy)) == sizeof(copy) && copy == here;
}

void GuardedMemory::reset() noexcept {
  for (Window& window : windows_) window.bytes = 0;
  behind_.bytes = 0;
  failed_ = false;
}

bool GuardedMemory::copy(std::uintptr_t from, void* to, std::size_t bytes) noexcept {
  if (bytes != 0 && read_own_memory(from, to, bytes) != bytes) failed_ = true;
  return !failed_;
}

// What lies before the end of a mapping is read all the same.
void GuardedMemory::fill(std::uintptr_t address) noexcept {
  Window& window = windows_[next_++ % windows_.size()];
  window.begin = address;
  window.bytes = read_own_memory(address, window.data.data(), window.data.size());
}

// Back to the start of the page, no further: below it nothing may be mapped.
void GuardedMemory::fill_backwards(std::uintptr_t address, std::size_t bytes) noexcept {
  constexpr std::uintptr_t kPageBytes = 4096;  // or a multiple of it
  const std::uintptr_t end = address + bytes;
  behind_.begin = std::max(address & ~(kPageBytes - 1), end - kFramesBytes);
  behind_.bytes = read_own_memory(behind_.begin, behind_.data.data(), end - behind_.begin);
}

}  // namespace synctrace::capture
