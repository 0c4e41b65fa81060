// SPDX-License-Identifier: Apache-2.0
#include "capture/process/helper_thread.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>

#include "capture/process/own_descriptors.h"
#include "capture/process/plain_syscalls.h"
#include "capture/process/reentry_guard.h"

namespace synctrace::capture {
namespace {

constexpr int kLowNice = 10;

}  // namespace

void* HelperThreads::run(void* context) noexcept {
  const Helper& helper = *static_cast<const Helper*>(context);
  mark_own_thread();
  prctl(PR_SET_NAME, helper.name);
  // On Linux this is the thread's own; where it is refused, normal priority does as well.
  if (helper.gives_way && !plain_syscalls_only())
    setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), kLowNice);
  // Refused, it has to look whether what it opened is still its own.
  if (helper.owns_files) static_cast<void>(take_own_descriptors());
  helper.run(helper.context);
  helper_threads.running_.fetch_sub(1, std::memory_order_relaxed);
  return nullptr;
}

bool HelperThreads::start(const Helper& helper) noexcept {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_t thread;
  running_.fetch_add(1, std::memory_order_relaxed);
  const bool is_made = pthread_create(&thread, &attributes, &run, const_cast<Helper*>(&helper)) == 0;
  if (!is_made) running_.fetch_sub(1, std::memory_order_relaxed);
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return is_made;
}

bool only_helpers_are_left() noexcept {
  struct stat tasks {};
  constexpr nlink_t kDots = 2;
  constexpr nlink_t kMain = 1;
  if (stat("/proc/self/task", &tasks) != 0 || tasks.st_nlink > kDots + kMain + helper_threads.count()) return false;
  // One that has ended has no program any more. Nothing is opened: a filter may have forbidden that by now.
  char path[64];
  std::snprintf(path, sizeof(path), "/proc/self/task/%d/exe", getpid());
  struct stat program {};
  return stat(path, &program) != 0 && errno == ENOENT;
}

void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected, std::int64_t timeout_ns) noexcept {
  const timespec timeout{timeout_ns / 1'000'000'000, timeout_ns % 1'000'000'000};
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, &timeout, nullptr, 0);
}

void futex_wake(std::atomic<std::uint32_t>& word) noexcept {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1 << 30, nullptr, nullptr, 0);
}

}  // namespace synctrace::capture
