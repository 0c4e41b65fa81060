// SPDX-License-Identifier: Apache-2.0
#include "capture/unwind/thread_stack.h"

#include <pthread.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "capture/process/raw_syscall.h"

namespace synctrace::capture {
namespace {

constexpr std::uintptr_t kPageBytes = 4096;  // or a multiple of it

bool is_main_thread() noexcept { return syscall(SYS_gettid) == getpid(); }

// Signal masks are copied from there before anything is said about how to use them, and there is no such way: so the
// answer is "bad address" where nothing can be read, and nothing is changed.
bool can_read(std::uintptr_t page) noexcept {
  constexpr long kNoSuchWay = 99;
  constexpr long kMaskBytes = 8;
  return raw_syscall(SYS_rt_sigprocmask, kNoSuchWay, static_cast<long>(page), 0, kMaskBytes) != -EFAULT;
}

// The kernel keeps at least this much below the main thread's stack free for it, or what the limit was when the program
// started: what lies there is the stack, or nothing at all. It is not asked for page by page: asking makes it grow.
std::uintptr_t main_stack_bytes() noexcept {
  constexpr rlim_t kKeptFree = 96U << 20;  // 128 MiB, less what is random
  rlimit limit{};
  return getrlimit(RLIMIT_STACK, &limit) == 0 ? std::min(limit.rlim_cur, kKeptFree) : 8U << 20;
}

}  // namespace

// The C library keeps a thread's own data at the upper end of its stack, the kernel the random bytes that it gives a
// program.
void OwnStack::find() noexcept {
  if (is_main_thread()) {
    const auto end = static_cast<std::uintptr_t>(getauxval(AT_RANDOM));
    bounds_ = {end - main_stack_bytes(), end};
    floor_ = bounds_.begin;
  } else {
    const auto end = reinterpret_cast<std::uintptr_t>(pthread_self());
    bounds_ = {end, end};
    floor_ = 0;
  }
}

bool OwnStack::reaches(std::uintptr_t address) noexcept {
  constexpr std::uintptr_t kMaxBytes = 64U << 20;
  if (bounds_.holds(address)) return true;
  if (address >= bounds_.end || address < floor_ || bounds_.end - address > kMaxBytes) return false;
  const std::uintptr_t wanted = address & ~(kPageBytes - 1);
  for (std::uintptr_t page = (bounds_.begin - 1) & ~(kPageBytes - 1); page >= wanted; page -= kPageBytes) {
    if (!can_read(page)) {
      floor_ = page + kPageBytes;
      return false;
    }
    bounds_.begin = page;
  }
  return true;
}

}  // namespace synctrace::capture
