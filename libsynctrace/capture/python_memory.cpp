// SPDX-License-Identifier: Apache-2.0
#include "capture/python_memory.h"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace synctrace::capture {

namespace {

constexpr std::uintptr_t kPageBytes = 4096;  // or a multiple: only how far one copy reaches

// Asked for once: the C library asks the kernel each time. A forked child reads nothing.
pid_t this_process = 0;

}  // namespace

bool CheckedMemory::copy(std::uintptr_t from, std::span<std::byte> to) noexcept {
  if (to.empty()) return true;
  const int saved_errno = errno;
  const iovec local{to.data(), to.size()};
  const iovec remote{reinterpret_cast<void*>(from), to.size()};
  const ssize_t got = process_vm_readv(this_process, &local, 1, &remote, 1, 0);
  errno = saved_errno;
  return got == static_cast<ssize_t>(to.size());
}

bool CheckedMemory::open(std::uintptr_t address, std::size_t bytes, Block& out) noexcept {
  if (bytes > kBlockBytes || !copy(address, std::span(block_).first(bytes))) return false;
  out = Block(block_.data());
  return true;
}

bool CheckedMemory::open_frame(std::uintptr_t address, std::size_t bytes, Block& out) noexcept {
  const std::uintptr_t end = address + bytes;
  if (address < window_begin_ || end > window_end_) {
    // Back to the start of the page, no further: below it nothing may be mapped.
    const std::uintptr_t furthest = end - kWindowBytes;
    const std::uintptr_t begin = std::max(address & ~(kPageBytes - 1), furthest);
    window_begin_ = window_end_ = 0;
    if (!copy(begin, std::span(window_).first(end - begin))) return false;
    window_begin_ = begin;
    window_end_ = end;
  }
  out = Block(window_.data() + (address - window_begin_));
  return true;
}

bool CheckedMemory::prepare() noexcept {
  this_process = getpid();
  const std::uint64_t written = 0x73796e6374726163;
  std::uint64_t read = 0;
  const iovec local{&read, sizeof(read)};
  const iovec remote{const_cast<std::uint64_t*>(&written), sizeof(written)};
  return process_vm_readv(this_process, &local, 1, &remote, 1, 0) == sizeof(read) && read == written;
}

}  // namespace synctrace::capture
