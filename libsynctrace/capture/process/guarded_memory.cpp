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

// How much could be read; errno stays as it was. Pieces behind one that is not there are not read.
std::size_t read_pieces(long process, std::span<const iovec> to, std::span<const iovec> from) noexcept {
  const int saved = errno;
  const long got = syscall(SYS_process_vm_readv, process, to.data(), to.size(), from.data(), from.size(), 0UL);
  errno = saved;
  return got > 0 ? static_cast<std::size_t>(got) : 0;
}

std::size_t read_memory(long process, std::uintptr_t from, void* to, std::size_t bytes) noexcept {
  const iovec local{to, bytes};
  const iovec remote{reinterpret_cast<void*>(from), bytes};
  return read_pieces(process, {&local, 1}, {&remote, 1});
}

}  // namespace

bool GuardedMemory::works() noexcept {
  if (plain_syscalls_only()) return false;
  const std::uint64_t here = 0x5eed;
  std::uint64_t copy = 0;
  const std::size_t got =
      read_memory(syscall(SYS_getpid), reinterpret_cast<std::uintptr_t>(&here), &copy, sizeof(copy));
  return got == sizeof(copy) && copy == here;
}

void GuardedMemory::reset() noexcept {
  process_ = syscall(SYS_getpid);
  for (Window& window : windows_) window.bytes = 0;
  behind_.bytes = 0;
  object_count_ = 0;
  failed_ = false;
}

void GuardedMemory::expect_all(std::span<const std::uintptr_t> addresses, std::size_t bytes) noexcept {
  const std::size_t count = std::min(addresses.size(), kObjects);
  bytes = std::min(bytes, kWindowBytes);
  for (std::size_t i = 0; i < count; ++i) {
    local_[i] = {objects_[i].data.data(), bytes};
    remote_[i] = {reinterpret_cast<void*>(addresses[i]), bytes};
    objects_[i].begin = addresses[i];
    objects_[i].bytes = bytes;
  }
  const std::size_t got =
      count == 0 ? 0 : read_pieces(process_, std::span(local_).first(count), std::span(remote_).first(count));
  object_count_ = got / bytes;
}

bool GuardedMemory::copy(std::uintptr_t from, void* to, std::size_t bytes) noexcept {
  if (bytes != 0 && read_memory(process_, from, to, bytes) != bytes) failed_ = true;
  return !failed_;
}

// The bytes before the end of a mapping are read all the same.
void GuardedMemory::fill(std::uintptr_t address) noexcept {
  Window& window = windows_[next_++ % windows_.size()];
  window.begin = address;
  window.bytes = read_memory(process_, address, window.data.data(), window.data.size());
}

// Back to the start of the page, no further: below it nothing may be mapped.
void GuardedMemory::fill_backwards(std::uintptr_t address, std::size_t bytes) noexcept {
  constexpr std::uintptr_t kPageBytes = 4096;  // or a multiple of it
  const std::uintptr_t end = address + bytes;
  behind_.begin = std::max(address & ~(kPageBytes - 1), end - kFramesBytes);
  behind_.bytes = read_memory(process_, behind_.begin, behind_.data.data(), end - behind_.begin);
}

}  // namespace synctrace::capture
