// SPDX-License-Identifier: Apache-2.0
#include "live/stopped_thread.h"

#include <elf.h>
#include <linux/futex.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/format_text.h"

namespace synctrace::cli {
namespace {

#if defined(__x86_64__)

// What the kernel leaves in rax of a call that it interrupted and would make again (linux/errno.h).
constexpr std::int64_t kRestartSys = -512;
constexpr std::int64_t kRestartNoIntr = -513;
constexpr std::int64_t kRestartNoHand = -514;
constexpr std::int64_t kRestartBlock = -516;

constexpr std::uint64_t kRedZoneBytes = 128;
constexpr std::uint64_t kSyscallBytes = 2;
// The loader and a constructor need some; the rest is theirs to call.
constexpr std::uint64_t kStackRoomBytes = 256U << 10;
constexpr std::uint64_t kLookedAtBytes = 256U << 10;

// The frame of a signal, as rt_sigreturn takes it (arch/x86/include/uapi/asm/sigcontext.h). Its first word is where the
// function returns to.
struct SignalFrame {
  std::uint64_t return_address;
  std::uint64_t flags;
  std::uint64_t link;
  std::uint64_t stack_base;  // the alternate stack: kept where this makes no sense
  std::uint64_t stack_flags;
  std::uint64_t stack_bytes;
  std::uint64_t r8, r9, r10, r11, r12, r13, r14, r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip, eflags;
  std::uint16_t cs, gs, fs, ss;
  std::uint64_t error, trap, old_mask, fault_address;
  std::uint64_t extended;  // address of the area of XSAVE
  std::uint64_t reserved[8];
  std::uint64_t signal_mask;
};
static_assert(sizeof(SignalFrame) == 8 + 40 + 256 + 8);

constexpr std::uint64_t kFlagExtended = 1;
constexpr std::uint64_t kFlagStackSegment = 2 | 4;
constexpr std::uint64_t kNoSuchStackFlag = 0xffff;

// Where the area of XSAVE says how long it is, in bytes that the processor leaves to software.
constexpr std::size_t kSoftwareBytesAt = 464;
constexpr std::uint32_t kMagic1 = 0x46505853;
constexpr std::uint32_t kMagic2 = 0x46505845;

bool is_restarted(std::int64_t result) noexcept {
  return result == kRestartSys || result == kRestartNoIntr || result == kRestartNoHand;
}

// Waits that begin anew as if nothing had happened: they have no end, or one by the clock.
bool waits_at_rest(const user_regs_struct& registers) noexcept {
  const auto is_endless = [](std::uint64_t timeout_ms) { return static_cast<std::int32_t>(timeout_ms) < 0; };
  switch (static_cast<std::int64_t>(registers.orig_rax)) {
    // Locks of the C library wait with FUTEX_WAIT: whoever does may be inside an allocator or the loader.
    case SYS_futex: return (registers.rsi & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET;
    case SYS_poll: return is_endless(registers.rdx);
    case SYS_epoll_wait:
    case SYS_epoll_pwait: return is_endless(registers.r10);
    case SYS_ppoll: return registers.rdx == 0;
    case SYS_select:
    case SYS_pselect6: return registers.r8 == 0;
    case SYS_clock_nanosleep: return registers.rsi == 1;  // TIMER_ABSTIME
    case SYS_read:
    case SYS_accept:
    case SYS_accept4:
    case SYS_recvfrom:
    case SYS_recvmsg:
    case SYS_rt_sigtimedwait:
    case SYS_wait4: return true;
    default: return false;
  }
}

bool is_of_an_allocator(const std::string& path) {
  return path.find("jemalloc") != std::string::npos || path.find("tcmalloc") != std::string::npos ||
         path.find("mimalloc") != std::string::npos;
}

bool is_of_the_loader(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  return name.starts_with("ld-linux") || name.starts_with("ld-2.") || name.starts_with("libdl.so");
}

std::string read_memory(int pid, std::uint64_t from, std::size_t bytes) {
  std::string text(bytes, '\0');
  const iovec local{text.data(), bytes};
  const iovec remote{reinterpret_cast<void*>(from), bytes};
  const ssize_t got = process_vm_readv(pid, &local, 1, &remote, 1, 0);
  text.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
  return text;
}

bool write_memory(int pid, std::uint64_t to, const std::string& bytes) {
  const iovec local{const_cast<char*>(bytes.data()), bytes.size()};
  const iovec remote{reinterpret_cast<void*>(to), bytes.size()};
  return process_vm_writev(pid, &local, 1, &remote, 1, 0) == static_cast<ssize_t>(bytes.size());
}

user_regs_struct as_registers(const std::string& bytes) {
  user_regs_struct registers{};
  std::memcpy(&registers, bytes.data(), std::min(bytes.size(), sizeof(registers)));
  return registers;
}

// The area as the kernel itself would have left it in a signal's frame.
std::string signal_area(std::string area) {
  if (area.size() <= kSoftwareBytesAt + 24) return area;
  std::uint64_t features = 0;  // the kernel's regset has them where the frame has its magic
  std::memcpy(&features, area.data() + kSoftwareBytesAt, sizeof(features));
  const auto bytes = static_cast<std::uint32_t>(area.size());
  const std::uint32_t extended = bytes + sizeof(kMagic2);
  char* software = area.data() + kSoftwareBytesAt;
  std::memcpy(software, &kMagic1, 4);
  std::memcpy(software + 4, &extended, 4);
  std::memcpy(software + 8, &features, 8);
  std::memcpy(software + 16, &bytes, 4);
  area.append(reinterpret_cast<const char*>(&kMagic2), sizeof(kMagic2));
  return area;
}

SignalFrame frame_of(const user_regs_struct& r, std::uint64_t return_address, std::uint64_t area, std::uint64_t mask) {
  SignalFrame frame{};
  frame.return_address = return_address;
  frame.flags = kFlagExtended | kFlagStackSegment;
  frame.stack_flags = kNoSuchStackFlag;
  frame.r8 = r.r8;
  frame.r9 = r.r9;
  frame.r10 = r.r10;
  frame.r11 = r.r11;
  frame.r12 = r.r12;
  frame.r13 = r.r13;
  frame.r14 = r.r14;
  frame.r15 = r.r15;
  frame.rdi = r.rdi;
  frame.rsi = r.rsi;
  frame.rbp = r.rbp;
  frame.rbx = r.rbx;
  frame.rdx = r.rdx;
  frame.rcx = r.rcx;
  frame.rsp = r.rsp;
  frame.eflags = r.eflags;
  frame.cs = static_cast<std::uint16_t>(r.cs);
  frame.gs = static_cast<std::uint16_t>(r.gs);
  frame.fs = static_cast<std::uint16_t>(r.fs);
  frame.ss = static_cast<std::uint16_t>(r.ss);
  frame.extended = area;
  frame.signal_mask = mask;
  // The call is made again, as the kernel does where no handler ran.
  const bool again =
      is_restarted(static_cast<std::int64_t>(r.rax)) || static_cast<std::int64_t>(r.rax) == kRestartBlock;
  frame.rax = again ? r.orig_rax : r.rax;
  frame.rip = again ? r.rip - kSyscallBytes : r.rip;
  return frame;
}

#endif

}  // namespace

#if defined(__x86_64__)

StoppedThread::StoppedThread(const TargetProcess& process, int thread) : process_(process), thread_(thread) {
  if (ptrace(PTRACE_SEIZE, thread_, nullptr, nullptr) != 0) {
    may_not_ = errno == EPERM;
    problem_ = may_not_ ? "the system forbids to stop its threads (kernel.yama.ptrace_scope, or a container without "
                          "SYS_PTRACE); ask as root"
                        : std::string("it cannot be stopped: ") + std::strerror(errno);
    return;
  }
  if (ptrace(PTRACE_INTERRUPT, thread_, nullptr, nullptr) != 0) {
    problem_ = "it has ended";
    return;
  }
  int status = 0;
  if (waitpid(thread_, &status, __WALL) != thread_ || !WIFSTOPPED(status)) {
    problem_ = "it has ended";
    return;
  }
  is_stopped_ = true;
  // A signal came first: it must be delivered, not lost.
  if (status >> 16 != PTRACE_EVENT_STOP) {
    ptrace(PTRACE_DETACH, thread_, nullptr, WSTOPSIG(status));
    is_stopped_ = false;
    problem_ = "a signal came meanwhile";
    return;
  }
  if (!read_registers()) problem_ = "its registers cannot be read";
}

StoppedThread::~StoppedThread() {
  if (is_stopped_) ptrace(PTRACE_DETACH, thread_, nullptr, nullptr);
}

bool StoppedThread::read_registers() {
  general_.resize(sizeof(user_regs_struct));
  extended_.resize(64U << 10);
  iovec general{general_.data(), general_.size()};
  iovec extended{extended_.data(), extended_.size()};
  if (ptrace(PTRACE_GETREGSET, thread_, NT_PRSTATUS, &general) != 0 ||
      ptrace(PTRACE_GETREGSET, thread_, NT_X86_XSTATE, &extended) != 0)
    return false;
  extended_.resize(extended.iov_len);
  return general.iov_len == sizeof(user_regs_struct);
}

// Whether the word can be where a call returns to: code, and a call instruction right before it.
bool StoppedThread::is_return_address(std::uint64_t word) const {
  const std::string before = read_memory(process_.pid, word - 7, 7);
  if (before.size() != 7) return false;
  const auto at = [&](std::size_t back) { return static_cast<unsigned char>(before[7 - back]); };
  const auto is_indirect = [&](std::size_t length) { return at(length) == 0xff && (at(length - 1) & 0x38) == 0x10; };
  return at(5) == 0xe8 || is_indirect(2) || is_indirect(3) || is_indirect(4) || is_indirect(6) || is_indirect(7);
}

std::string StoppedThread::stack_problem() const {
  const user_regs_struct registers = as_registers(general_);
  const Mapping* stack = process_.mapping_of(registers.rsp);
  if (stack == nullptr) return "its stack is not known";
  const bool grows = stack->path == "[stack]";
  if (!grows && registers.rsp - stack->begin < kStackRoomBytes) return "its stack has little room";
  const std::string words =
      read_memory(process_.pid, registers.rsp, std::min<std::uint64_t>(stack->end - registers.rsp, kLookedAtBytes));
  if (words.empty()) return "its stack cannot be read";
  for (std::size_t i = 0; i + 8 <= words.size(); i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, words.data() + i, 8);
    if (word == process_.signal_return) return "it is in a signal handler";
    const Mapping* code = process_.mapping_of(word);
    if (code == nullptr || !code->is_code) continue;
    const bool is_loader = is_of_the_loader(code->path);
    if (!is_loader && !is_of_an_allocator(code->path)) continue;
    if (is_return_address(word)) return is_loader ? "it may be inside the loader" : "it may be inside an allocator";
  }
  return {};
}

std::string StoppedThread::refuse_call() const {
  const user_regs_struct registers = as_registers(general_);
  const auto call = static_cast<std::int64_t>(registers.orig_rax);
  const auto result = static_cast<std::int64_t>(registers.rax);
  if (call < 0 || (!is_restarted(result) && result != kRestartBlock)) return "it runs";
  if (!waits_at_rest(registers)) return format_text("it is in system call {}, and might miss its end", call);
  return stack_problem();
}

bool StoppedThread::call_on_resume(std::uint64_t function, const std::string& text, std::uint64_t flags) {
  std::uint64_t mask = 0;
  if (ptrace(PTRACE_GETSIGMASK, thread_, sizeof(mask), &mask) != 0) return false;
  user_regs_struct registers = as_registers(general_);
  const std::string area = signal_area(extended_);
  // From the stack's top down: the text, the area of XSAVE, the frame. The processor wants the area at 64 bytes.
  const std::uint64_t text_at = (registers.rsp - kRedZoneBytes - text.size() - 1) & ~std::uint64_t{15};
  const std::uint64_t area_at = (text_at - area.size()) & ~std::uint64_t{63};
  // A function finds its return address 8 bytes below a multiple of 16.
  const std::uint64_t frame_at = ((area_at - sizeof(SignalFrame)) & ~std::uint64_t{15}) - 8;
  const SignalFrame frame = frame_of(registers, process_.signal_return, area_at, mask);
  const std::string frame_bytes(reinterpret_cast<const char*>(&frame), sizeof(frame));
  if (!write_memory(process_.pid, text_at, text + '\0') || !write_memory(process_.pid, area_at, area) ||
      !write_memory(process_.pid, frame_at, frame_bytes))
    return false;
  registers.rip = function;
  registers.rsp = frame_at;
  registers.rdi = text_at;
  registers.rsi = flags;
  registers.rax = 0;
  registers.orig_rax = ~std::uint64_t{0};  // the interrupted call is the frame's affair
  iovec general{&registers, sizeof(registers)};
  if (ptrace(PTRACE_SETREGSET, thread_, NT_PRSTATUS, &general) != 0) return false;
  // The program's handlers wait until the frame is gone. Faults are left: the kernel would take their handlers away.
  constexpr std::uint64_t kFaults = 1U << 3 | 1U << 4 | 1U << 6 | 1U << 7 | 1U << 10;  // ILL TRAP BUS FPE SEGV
  std::uint64_t all = ~kFaults;
  if (ptrace(PTRACE_SETSIGMASK, thread_, sizeof(all), &all) == 0) return true;
  general = {general_.data(), general_.size()};
  ptrace(PTRACE_SETREGSET, thread_, NT_PRSTATUS, &general);
  return false;
}

#else

StoppedThread::StoppedThread(const TargetProcess& process, int thread) : process_(process), thread_(thread) {
  may_not_ = true;
  problem_ = "functions of a running program are called on x86-64 alone";
}
StoppedThread::~StoppedThread() = default;
std::string StoppedThread::refuse_call() const { return problem_; }
bool StoppedThread::call_on_resume(std::uint64_t, const std::string&, std::uint64_t) { return false; }

#endif

}  // namespace synctrace::cli
