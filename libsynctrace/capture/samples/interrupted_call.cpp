// SPDX-License-Identifier: Apache-2.0
#include "capture/samples/interrupted_call.h"

#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <ctime>
#include <iterator>

namespace synctrace::capture {

#if defined(__x86_64__)

namespace {

// Calls that end with EINTR in spite of SA_RESTART and have done nothing by then. Not close, whose descriptor is gone,
// and no ioctl: what a driver has done is unknown.
constexpr int kRestartable[] = {
    SYS_read,
    SYS_write,
    SYS_poll,
    SYS_readv,
    SYS_writev,
    SYS_select,
    SYS_pause,
    SYS_nanosleep,
    SYS_connect,
    SYS_accept,
    SYS_sendto,
    SYS_recvfrom,
    SYS_sendmsg,
    SYS_recvmsg,
    SYS_semop,
    SYS_msgsnd,
    SYS_msgrcv,
    SYS_rt_sigtimedwait,
    SYS_rt_sigsuspend,
    SYS_futex,
    SYS_io_getevents,
    SYS_semtimedop,
    SYS_clock_nanosleep,
    SYS_epoll_wait,
    SYS_pselect6,
    SYS_ppoll,
    SYS_epoll_pwait,
    SYS_accept4,
    SYS_recvmmsg,
    SYS_sendmmsg,
    333 /* io_pgetevents */,
    426 /* io_uring_enter */,
    441 /* epoll_pwait2 */,
    449 /* futex_waitv */,
    455 /* futex_wait */,
};

constexpr std::size_t kSyscallBytes = 2;  // 0f 05
constexpr std::size_t kLookBack = 16;     // the instruction, the longest two in front of it that we know, a prefix

using Code = std::array<std::uint8_t, kLookBack>;

// Through the kernel: what is asked for may not be there.
bool read_memory(std::uintptr_t from, void* to, std::size_t bytes) noexcept {
  const iovec local{to, bytes};
  const iovec remote{reinterpret_cast<void*>(from), bytes};
  return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == static_cast<ssize_t>(bytes);
}

// The registers that an instruction can name, by its number for them; -1 for those that the call itself changed.
constexpr int kRegisters[16] = {-1,     -1,     REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                REG_R8, REG_R9, REG_R10, -1,      REG_R12, REG_R13, REG_R14, REG_R15};

// The number of the call, from the instruction that put it into eax just before: the kernel leaves the arguments in
// their registers, and the result in the place of the number. -1 when it was put there earlier, or in any doubt: what
// looks like a prefix makes the instruction one about another register.
long call_number(const Code& code, const gregset_t& registers) noexcept {
  constexpr std::uint8_t kWide = 8, kRegister = 4, kBase = 1;  // bits of a prefix 0x4*
  const auto prefix_at = [](const std::uint8_t* at) { return (*at & 0xf0) == 0x40 ? *at & 0x0f : 0; };
  const std::uint8_t* end = code.data() + kLookBack - kSyscallBytes;
  const bool has_load = end[-4] == 0x8b && (end[-3] & 0xc7) == 0x44 && end[-2] == 0x24;  // mov 8(%rsp), %argument
  if (has_load) end -= prefix_at(end - 5) != 0 ? 5 : 4;
  if (end[-5] == 0xb8 && prefix_at(end - 6) == 0) {  // mov $number, %eax
    std::int32_t number = 0;
    std::memcpy(&number, end - 4, sizeof(number));
    return number;
  }
  if (has_load) return -1;
  const std::uint8_t operand = end[-1];
  const int prefix = prefix_at(end - 3) & ~kWide;
  if ((end[-2] == 0x31 || end[-2] == 0x33) && operand == 0xc0 && prefix_at(end - 3) == 0) return 0;  // xor %eax, %eax
  int source = -1;
  if (end[-2] == 0x89 && (operand & 0xc7) == 0xc0 && (prefix & ~kRegister) == 0) {  // mov %source, %eax
    source = (operand >> 3 & 7) | (prefix != 0 ? 8 : 0);
  } else if (end[-2] == 0x8b && (operand & 0xf8) == 0xc0 && (prefix & ~kBase) == 0) {
    source = (operand & 7) | (prefix != 0 ? 8 : 0);
  }
  return source < 0 || kRegisters[source] < 0 ? -1 : static_cast<long>(registers[kRegisters[source]]);
}

// The C library's syscall() gets the number as an argument and keeps it nowhere. The one call that it is used for in
// such a place is a futex wait with a time limit, by C++ runtimes and frameworks: known by its arguments, and by a
// caller that is our own door in front of syscall(), or that has loaded the number just before.
bool is_futex_wait(const gregset_t& registers) noexcept {
  constexpr greg_t kCommand = 0x7f;
  constexpr greg_t kFlags = 0x180;  // private, realtime
  constexpr greg_t kWait = 0;
  constexpr greg_t kWaitBitset = 9;
  const greg_t operation = registers[REG_RSI];
  const greg_t command = operation & kCommand;
  if ((operation & ~(kCommand | kFlags)) != 0 || (command != kWait && command != kWaitBitset)) return false;
  timespec limit{};
  const bool has_limit = read_memory(static_cast<std::uintptr_t>(registers[REG_R10]), &limit, sizeof(limit));
  return has_limit && registers[REG_RDI] % 4 == 0 && limit.tv_sec >= 0 && limit.tv_nsec >= 0 &&
         limit.tv_nsec < 1'000'000'000;
}

extern "C" const char __ehdr_start __attribute__((visibility("hidden")));  // the linker's: our own first and last byte
extern "C" const char _end __attribute__((visibility("hidden")));

bool is_called_for_futex(const gregset_t& registers) noexcept {
  std::uintptr_t caller = 0;
  if (!read_memory(static_cast<std::uintptr_t>(registers[REG_RSP]), &caller, sizeof(caller))) return false;
  if (caller >= reinterpret_cast<std::uintptr_t>(&__ehdr_start) && caller < reinterpret_cast<std::uintptr_t>(&_end))
    return true;
  constexpr std::uint8_t kLoad[] = {0xbf, SYS_futex, 0, 0, 0};  // mov $202, %edi
  std::array<std::uint8_t, 64> code{};
  return read_memory(caller - code.size(), code.data(), code.size()) &&
         std::search(code.begin(), code.end(), std::begin(kLoad), std::end(kLoad)) != code.end();
}

// A relative sleep that also tells what is left of it goes on with that.
void sleep_the_rest(long number, gregset_t& registers) noexcept {
  if (number == SYS_nanosleep && registers[REG_RSI] != 0) registers[REG_RDI] = registers[REG_RSI];
  constexpr greg_t kAbsolute = 1;  // TIMER_ABSTIME
  if (number != SYS_clock_nanosleep || (registers[REG_RSI] & kAbsolute) != 0) return;
  if (registers[REG_R10] != 0) registers[REG_RDX] = registers[REG_R10];
}

// A signal that the program handles came while our handler ran, and is let through when it returns. Its own handler is
// to find the call ended, as it would have without us.
bool program_has_signal(const sigset_t& blocked_by_program) noexcept {
  sigset_t pending;
  if (sigpending(&pending) != 0) return false;
  for (int signal = 1; signal <= SIGRTMAX; ++signal) {
    if (sigismember(&pending, signal) != 1 || sigismember(&blocked_by_program, signal) == 1) continue;
    struct sigaction action {};
    if (sigaction(signal, nullptr, &action) != 0) continue;
    if (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN) return true;
  }
  return false;
}

}  // namespace

InterruptedCall repair_interrupted_call(ucontext_t& context) noexcept {
  gregset_t& registers = context.uc_mcontext.gregs;
  if (registers[REG_RAX] != -EINTR) return InterruptedCall::kNone;
  // The instruction leaves its own end in rcx.
  if (registers[REG_RCX] != registers[REG_RIP]) return InterruptedCall::kNone;
  const int saved_errno = errno;
  Code code{};
  InterruptedCall result = InterruptedCall::kNone;
  const auto end = static_cast<std::uintptr_t>(registers[REG_RIP]);
  if (read_memory(end - code.size(), code.data(), code.size()) && code[kLookBack - 2] == 0x0f &&
      code[kLookBack - 1] == 0x05) {
    long number = call_number(code, registers);
    if (number < 0 && is_futex_wait(registers) && is_called_for_futex(registers)) number = SYS_futex;
    const bool is_restartable =
        std::find(std::begin(kRestartable), std::end(kRestartable), number) != std::end(kRestartable);
    if (!is_restartable) {
      result = InterruptedCall::kUnknown;
    } else if (program_has_signal(context.uc_sigmask)) {
      result = InterruptedCall::kLeft;
    } else {
      sleep_the_rest(number, registers);
      registers[REG_RAX] = number;
      registers[REG_RIP] -= kSyscallBytes;
      result = InterruptedCall::kRestarted;
    }
  }
  errno = saved_errno;
  return result;
}

#else

InterruptedCall repair_interrupted_call(ucontext_t&) noexcept { return InterruptedCall::kNone; }

#endif

}  // namespace synctrace::capture
