// SPDX-License-Identifier: Apache-2.0
#include "capture/samples/sample_signal.h"

#include <gnu/libc-version.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "capture/process/clocks.h"
#include "capture/process/recorder_state.h"
#include "capture/samples/interrupted_call.h"
#include "capture/samples/sample_queue.h"
#include "capture/stacks/stack_table.h"

namespace synctrace::capture {
namespace {

void count_call(InterruptedCall call) noexcept {
  SampleCounts& counts = sample_queue.counts;
  if (call == InterruptedCall::kRestarted) counts.restarted.fetch_add(1, std::memory_order_relaxed);
  if (call == InterruptedCall::kUnknown) counts.spoiled.fetch_add(1, std::memory_order_relaxed);
}

// From 2.41 on the C library makes all calls that can be cancelled through one function, which does not keep the call's
// number: they could not be made again.
bool library_tells_calls() noexcept {
  char* end = nullptr;
  const unsigned long major = std::strtoul(gnu_get_libc_version(), &end, 10);
  const unsigned long minor = *end == '.' ? std::strtoul(end + 1, nullptr, 10) : 0;
  return major == 2 && minor < 41;
}

// All signals are blocked: a handler of the program that left by longjmp would leave us half-way, and one that ran
// before the call is restarted would be missed by it. Signals that come from elsewhere are as ignored as they would be
// without us: they end no call either.
void on_signal(int, siginfo_t*, void* context) noexcept {
  const int saved_errno = errno;
  const std::int64_t begin_ns = now_ns();  // the thread's own clock would be a system call
  ThreadBuffer* buffer = recording() ? ThreadBuffers::ready_buffer_of_this_thread() : nullptr;
  if (buffer != nullptr && buffer->sample.is_asked()) buffer->sample.answer(capture_interrupted_stack(context));
  count_call(repair_interrupted_call(*static_cast<ucontext_t*>(context)));
  SampleCounts& counts = sample_queue.counts;
  counts.signals.fetch_add(1, std::memory_order_relaxed);
  constexpr std::int64_t kLongest = 100'000;  // beyond it the thread was not given a processor
  const std::int64_t used_ns = std::min(now_ns() - begin_ns, kLongest);
  counts.signal_ns.fetch_add(static_cast<std::uint64_t>(used_ns), std::memory_order_relaxed);
  errno = saved_errno;
}

}  // namespace

const char* SampleSignal::start() noexcept {
  if (!kCallsCanBeRestarted) return "on this processor a signal would end system calls of the program";
  if (!library_tells_calls()) return "with this C library a signal would end system calls of the program";
  struct sigaction before {};
  if (sigaction(kNumber, nullptr, &before) != 0) return "the signals of this process cannot be read";
  const bool is_ours_already = (before.sa_flags & SA_SIGINFO) != 0 && before.sa_sigaction == &on_signal;
  if (!is_ours_already && before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
    return "the program uses SIGURG itself";
  struct sigaction action {};
  action.sa_sigaction = &on_signal;
  action.sa_flags = SA_RESTART | SA_SIGINFO | SA_ONSTACK;
  sigfillset(&action.sa_mask);
  process_ = getpid();
  return sigaction(kNumber, &action, nullptr) == 0 ? nullptr : "SIGURG cannot be handled in this process";
}

bool SampleSignal::is_ours() const noexcept {
  struct sigaction now {};
  return sigaction(kNumber, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == &on_signal;
}

bool SampleSignal::send(ThreadBuffer& buffer) const noexcept {
  if (!buffer.sample.ask()) return false;
  if (syscall(SYS_tgkill, process_, number(buffer.thread()), kNumber) == 0) {
    buffer.sample.sent();
    return true;
  }
  buffer.sample.forget();
  return false;
}

}  // namespace synctrace::capture
