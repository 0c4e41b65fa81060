// SPDX-License-Identifier: Apache-2.0
#include "capture/stacks/signal_stack.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>

#include "capture/process/raw_syscall.h"

namespace synctrace::capture {
namespace {

// A handler of the program's that asks for an alternate stack where it never made one runs here, too: room for that.
// Pages that nobody touches cost nothing.
constexpr std::size_t kStackBytes = 256U << 10;
constexpr std::size_t kGuardBytes = 64U << 10;  // a page, whatever its size

constexpr std::uint64_t kSampleSignalBit = std::uint64_t{1} << (SIGURG - 1);

long set_kernels(const stack_t* wanted, stack_t* before) noexcept {
  return raw_syscall(SYS_sigaltstack, to_word(wanted), to_word(before));
}

}  // namespace

void SignalStack::give(SampleSlot& slot, ThreadUnwinder& unwinder) noexcept {
  stack_t before{};
  if (memory_ != nullptr || set_kernels(nullptr, &before) != 0 || (before.ss_flags & SS_DISABLE) == 0) return;
  void* memory =
      mmap(nullptr, kGuardBytes + kStackBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return;
  auto* begin = static_cast<std::byte*>(memory) + kGuardBytes;
  stack_t own{};
  own.ss_sp = begin;
  own.ss_size = kStackBytes;
  if (mprotect(begin, kStackBytes, PROT_READ | PROT_WRITE) != 0 || set_kernels(&own, nullptr) != 0) {
    munmap(memory, kGuardBytes + kStackBytes);
    return;
  }
  memory_ = memory;
  process_ = raw_syscall(SYS_getpid);
  slot_ = &slot;
  unwinder_ = &unwinder;
  unwinder.set_signal_stack(own);
  slot.open();
}

// When this returns no signal of the sampler's will come any more, and the thread's mask is as it was. A signal that is
// under way is taken: what sends it does so within microseconds, if it is given a processor.
void SignalStack::withdraw() noexcept {
  raw_syscall(SYS_rt_sigprocmask, SIG_BLOCK, to_word(&kSampleSignalBit), to_word(&mask_), sizeof(mask_));
  slot_->close();
  if (raw_syscall(SYS_getpid) != process_) slot_->answer(StackId{});
  constexpr int kMostLooks = 2000;
  const timespec pause{0, 1'000'000};
  for (int look = 0; slot_->is_asked() && look < kMostLooks; ++look) {
    const bool was_sent = slot_->is_sent();  // then it is here, or was handled without an answer
    const timespec patience = was_sent ? timespec{} : pause;
    const long taken =
        raw_syscall(SYS_rt_sigtimedwait, to_word(&kSampleSignalBit), 0, to_word(&patience), sizeof(kSampleSignalBit));
    if (taken == SIGURG || was_sent) slot_->answer(StackId{});
  }
  // Whoever was about to send it has had no processor for seconds: the signal stays blocked, which loses nothing.
  if (slot_->is_asked()) mask_ |= kSampleSignalBit;
}

void SignalStack::take_back() noexcept {
  if (memory_ == nullptr) return;
  bool is_free = slot_ == nullptr;  // the kernel has one of the program's
  if (slot_ != nullptr) {
    withdraw();
    stack_t none{};
    none.ss_flags = SS_DISABLE;
    is_free = set_kernels(&none, nullptr) == 0;  // not while the thread runs on it
    raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, to_word(&mask_), 0, sizeof(mask_));
  }
  slot_ = nullptr;
  if (is_free) munmap(memory_, kGuardBytes + kStackBytes);
  memory_ = nullptr;
}

int SignalStack::set(const stack_t* wanted, stack_t* before, KernelCall call) noexcept {
  if (slot_ == nullptr) return call(wanted, before);
  if (before != nullptr && call(nullptr, before) != 0) return -1;  // where it may not be written
  stack_t none{};
  none.ss_flags = SS_DISABLE;
  int result = 0;
  if (wanted != nullptr && wanted->ss_flags != SS_DISABLE) {
    const stack_t program = *wanted;
    withdraw();
    result = call(&program, nullptr);
    const int error = errno;
    raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, to_word(&mask_), 0, sizeof(mask_));
    errno = error;
    if (result != 0) {
      slot_->open();
      return result;
    }
    unwinder_->set_signal_stack(program);
    slot_ = nullptr;
  }
  if (before != nullptr) *before = none;
  return result;
}

}  // namespace synctrace::capture
