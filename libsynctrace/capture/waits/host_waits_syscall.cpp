// SPDX-License-Identifier: Apache-2.0
// Interposed: the C library's syscall(), for the futex calls that C++ runtimes and frameworks make through it, and
// prctl(), for a thread that enters seccomp's strict mode by either. All other calls leave at once by a jump that
// touches neither the stack nor a register that matters: a call may come back twice (vfork), or on another stack
// (clone). Compiled into the library alone, not into tests.
#include <linux/futex.h>

#include <cerrno>

#include "capture/waits/host_waits_bind.h"
#include "capture/waits/host_waits_versions.h"
#include "capture/waits/strict_thread.h"

namespace synctrace::capture {
namespace {

using SyscallSignature = long(long, long, long, long, long, long, long);

// Numbers that are the same on all architectures; older headers lack them.
constexpr long kFutexWaitv = 449;  // on many words: the record names their list, and no waker
constexpr long kFutexWake = 454;
constexpr long kFutexWait = 455;

enum class FutexUse { kOther, kWait, kWake, kWakeTwo };

FutexUse use_of(long number, long operation) noexcept {
  if (number == kFutexWait || number == kFutexWaitv) return FutexUse::kWait;
  if (number == kFutexWake) return FutexUse::kWake;
  if (number != SYS_futex) return FutexUse::kOther;
  constexpr int kLockPi2 = 13;
  switch (operation & FUTEX_CMD_MASK) {
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET:
    case FUTEX_WAIT_REQUEUE_PI:
    case FUTEX_LOCK_PI:
    case kLockPi2: return FutexUse::kWait;
    case FUTEX_WAKE:
    case FUTEX_WAKE_BITSET:
    case FUTEX_REQUEUE:
    case FUTEX_CMP_REQUEUE:
    case FUTEX_UNLOCK_PI: return FutexUse::kWake;
    case FUTEX_WAKE_OP: return FutexUse::kWakeTwo;
    default: return FutexUse::kOther;
  }
}

}  // namespace

// The assembly's jump target: a NextCall begins with the address of its function.
extern "C" {
extern NextCall<SyscallSignature> synctrace_next_syscall;
}

namespace {

long first_syscall(long number, long a, long b, long c, long d, long e, long f) {
  if (auto* function = synctrace_next_syscall.bind()) return function(number, a, b, c, d, e, f);
  const long result = raw_syscall(number, a, b, c, d, e, f);
  if (result >= 0 || result < -4095) return result;
  errno = static_cast<int>(-result);
  return -1;
}

// The mark on the thread stays when the call succeeds: nothing else may be called then.
template <class Next, class... Arguments>
auto enter_strict_mode(const Next& next, Arguments... arguments) {
  StrictThread strict;
  const auto result = next(arguments...);
  if (result != 0) {
    const int saved_errno = errno;
    strict.undo();
    errno = saved_errno;
  }
  return result;
}

}  // namespace

SYNCTRACE_NEXT_KERNEL(prctl, "prctl", "@@", SYNCTRACE_V2_2_5, SYS_prctl, int, int, long, long, long, long)
SYNCTRACE_DOOR(prctl, "prctl", "@@", SYNCTRACE_V2_2_5, int, int option, long a, long b, long c, long d) {
  if (enters_strict_mode(SYS_prctl, option, a)) return enter_strict_mode(next_prctl, option, a, b, c, d);
  return next_prctl(option, a, b, c, d);
}

extern "C" {

__attribute__((visibility("hidden"), used)) constinit NextCall<SyscallSignature> synctrace_next_syscall{
    "syscall", SYNCTRACE_V2_2_5, VersionUse::kDefault, &first_syscall};

// Gets the registers and the stack as the program's call left them.
__attribute__((visibility("hidden"), used)) long synctrace_futex(long number, long a, long b, long c, long d, long e,
                                                                 long f) {
  if (!host_waits_on()) return synctrace_next_syscall(number, a, b, c, d, e, f);
  const auto address = static_cast<std::uint64_t>(a);
  switch (use_of(number, b)) {
    case FutexUse::kWait: return timed<HostCall::kFutex>(synctrace_next_syscall, address, number, a, b, c, d, e, f);
    case FutexUse::kWakeTwo: note_wake(static_cast<std::uint64_t>(e)); [[fallthrough]];
    case FutexUse::kWake: note_wake(address); break;
    case FutexUse::kOther: break;
  }
  return synctrace_next_syscall(number, a, b, c, d, e, f);
}
}

// The same for the calls that may enter strict mode.
extern "C" __attribute__((visibility("hidden"), used)) long synctrace_confine(long number, long a, long b, long c,
                                                                              long d, long e, long f) {
  if (enters_strict_mode(number, a, b)) return enter_strict_mode(synctrace_next_syscall, number, a, b, c, d, e, f);
  return synctrace_next_syscall(number, a, b, c, d, e, f);
}

#if defined(__x86_64__)
static_assert(SYS_futex == 202 && SYS_prctl == 157 && SYS_seccomp == 317);
asm(R"(
  .text
  .p2align 4
  .globl synctrace_syscall
  .type synctrace_syscall, @function
synctrace_syscall:
  .cfi_startproc
  endbr64
  cmpq $202, %rdi
  je 1f
  cmpq $157, %rdi
  je 2f
  cmpq $317, %rdi
  je 2f
  leaq -449(%rdi), %rax
  cmpq $7, %rax
  jb 1f
  jmp *synctrace_next_syscall(%rip)
1:
  jmp synctrace_futex
2:
  jmp synctrace_confine
  .cfi_endproc
  .size synctrace_syscall, . - synctrace_syscall
  .symver synctrace_syscall, syscall@@GLIBC_2.2.5
)");
#elif defined(__aarch64__)
static_assert(SYS_futex == 98 && SYS_prctl == 167 && SYS_seccomp == 277);
asm(R"(
  .text
  .p2align 4
  .globl synctrace_syscall
  .type synctrace_syscall, %function
synctrace_syscall:
  .cfi_startproc
  hint #34
  cmp x0, #98
  b.eq 1f
  cmp x0, #167
  b.eq 2f
  cmp x0, #277
  b.eq 2f
  sub x16, x0, #449
  cmp x16, #7
  b.lo 1f
  adrp x16, synctrace_next_syscall
  ldr x16, [x16, #:lo12:synctrace_next_syscall]
  br x16
1:
  b synctrace_futex
2:
  b synctrace_confine
  .cfi_endproc
  .size synctrace_syscall, . - synctrace_syscall
  .symver synctrace_syscall, syscall@@GLIBC_2.17
)");
#endif

void bind_syscall() noexcept {
  synctrace_next_syscall.bind();
  next_prctl.bind();
}

}  // namespace synctrace::capture
