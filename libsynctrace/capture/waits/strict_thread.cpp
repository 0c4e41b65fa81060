// SPDX-License-Identifier: Apache-2.0
#include "capture/waits/strict_thread.h"

#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <csignal>

#include "capture/events/thread_buffer.h"
#include "capture/process/raw_syscall.h"
#include "capture/process/reentry_guard.h"

namespace synctrace::capture {
namespace {

extern "C" const char __ehdr_start __attribute__((visibility("hidden")));  // the linker's: our own first and last byte
extern "C" const char _end __attribute__((visibility("hidden")));

// The handler by which samples ask a thread; the program's own would still be wanted.
bool sample_signal_is_ours() noexcept {
  struct sigaction now {};
  if (sigaction(SIGURG, nullptr, &now) != 0 || (now.sa_flags & SA_SIGINFO) == 0) return false;
  const auto handler = reinterpret_cast<std::uintptr_t>(now.sa_sigaction);
  return handler >= reinterpret_cast<std::uintptr_t>(&__ehdr_start) &&
         handler < reinterpret_cast<std::uintptr_t>(&_end);
}

}  // namespace

bool enters_strict_mode(long number, long a, long b) noexcept {
  return (number == SYS_prctl && a == PR_SET_SECCOMP && b == SECCOMP_MODE_STRICT) ||
         (number == SYS_seccomp && a == SECCOMP_SET_MODE_STRICT);
}

// The signal too: one that is on its way would run a handler, which asks clocks.
StrictThread::StrictThread() noexcept : was_inside_(inside_recorder.load(std::memory_order_relaxed)) {
  inside_recorder.store(true, std::memory_order_relaxed);
  if (ThreadBuffer* buffer = ThreadBuffers::ready_buffer_of_this_thread()) buffer->leave_out_of_samples(true);
  if (!sample_signal_is_ours()) return;
  const std::uint64_t urgent = std::uint64_t{1} << (SIGURG - 1);
  is_masked_ =
      raw_syscall(SYS_rt_sigprocmask, SIG_BLOCK, to_word(&urgent), to_word(&mask_before_), sizeof(mask_before_)) == 0;
}

void StrictThread::undo() noexcept {
  if (is_masked_) raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, to_word(&mask_before_), 0, sizeof(mask_before_));
  if (ThreadBuffer* buffer = ThreadBuffers::ready_buffer_of_this_thread())
    buffer->leave_out_of_samples(this_thread.is_recorders);
  inside_recorder.store(was_inside_, std::memory_order_relaxed);
}

}  // namespace synctrace::capture
