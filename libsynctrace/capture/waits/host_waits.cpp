// SPDX-License-Identifier: Apache-2.0
#include "capture/waits/host_waits.h"

#include <dlfcn.h>
#include <link.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "capture/cupti/api_events.h"
#include "capture/events/thread_buffer.h"
#include "capture/process/clocks.h"
#include "capture/process/raw_syscall.h"
#include "capture/process/reentry_guard.h"
#include "capture/python/python_frames.h"
#include "capture/stacks/stack_table.h"
#include "contract/recording_limits.h"

namespace synctrace::capture {
namespace {

// A stack costs about a microsecond. Waits of a millisecond or more always get one: there are at most a thousand a
// second. The shorter ones of a thread get 100 in 50 ms, 2,000 a second.
constexpr std::int64_t kAlwaysWithStackNs = 1'000'000;
constexpr std::int64_t kRationPeriodNs = 50'000'000;
constexpr std::uint32_t kStacksPerPeriod = 100;

struct Ration {
  std::int64_t period_end_ns = 0;
  std::uint32_t left = 0;
};
thread_local __attribute__((tls_model("initial-exec"))) constinit Ration ration;

bool take_from_ration(std::int64_t now_ns) noexcept {
  if (now_ns >= ration.period_end_ns) ration = {now_ns + kRationPeriodNs, kStacksPerPeriod};
  if (ration.left == 0) return false;
  --ration.left;
  return true;
}

// The program's handlers stay away while it lives, so nothing can nest in a record, and no longjmp can leave one.
class SignalsBlocked {
 public:
  SignalsBlocked() noexcept {
    const std::uint64_t all = ~std::uint64_t{0};
    raw_syscall(SYS_rt_sigprocmask, kSetMask, to_word(&all), to_word(&before_), sizeof(before_));
  }
  ~SignalsBlocked() { raw_syscall(SYS_rt_sigprocmask, kSetMask, to_word(&before_), 0, sizeof(before_)); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  static constexpr long kSetMask = 2;  // SIG_SETMASK
  std::uint64_t before_ = 0;           // the kernel's sigset_t: 64 signals
};

// Whose waits are of interest. Not those of a child between vfork and exec, which runs on its parent's memory and
// thread data, nor of other tasks without thread data of their own.
bool is_recorded_thread() noexcept {
  if (inside_recorder.load(std::memory_order_relaxed) || inside_cuda_call()) return false;
  const bool uses_cuda = ThreadBuffers::ready_buffer_of_this_thread() != nullptr;
  if (!uses_cuda && !python_reader.runs_on_this_thread()) return false;
  if (raw_syscall(SYS_getpid) != host_waits.process.load(std::memory_order_relaxed)) return false;
  return number(this_thread_id()) == static_cast<std::uint32_t>(raw_syscall(SYS_gettid));
}

// How the call says that it ended by its own time limit or by a signal: with an error number, or with -1 and errno;
// poll and its like return 0 at their limit, and a sleep that returns 0 was slept out.
std::uint32_t flags_of(const LongWait& wait, int call_errno) noexcept {
  int error = 0;
  switch (wait.call) {
    case HostCall::kCondition:
    case HostCall::kJoin: error = static_cast<int>(wait.result); break;
    case HostCall::kSleep: return wait.result == 0 ? format::HostWait::kTimedOut : format::HostWait::kInterrupted;
    case HostCall::kPoll:
    case HostCall::kEpoll:
    case HostCall::kSelect:
      if (wait.result == 0) return format::HostWait::kTimedOut;
      [[fallthrough]];
    default: error = wait.result == -1 ? call_errno : 0;
  }
  if (error == ETIMEDOUT) return format::HostWait::kTimedOut;
  return error == EINTR ? format::HostWait::kInterrupted : 0;
}

// Calls on an address, which others signal.
constexpr bool has_signallers(HostCall call) noexcept {
  return call == HostCall::kCondition || call == HostCall::kSemaphore || call == HostCall::kFutex;
}

// CPython unmaps the memory of its frames while the thread state still names them: in munmap no Python frames are read.
constexpr StackKinds readable_stacks(HostCall call) noexcept {
  return call == HostCall::kMunmap ? StackKinds::kNative : StackKinds::kAll;
}

// poll waits for a list of descriptors: the first one. The list is the program's memory: it is read only where the
// kernel could read it.
std::uint64_t object_of(const LongWait& wait) noexcept {
  if (wait.call != HostCall::kPoll) return wait.object;
  if (wait.object == 0 || wait.result < 0) return 0;
  return static_cast<std::uint64_t>(reinterpret_cast<const pollfd*>(wait.object)->fd);
}

void push_wait(const LongWait& wait, int call_errno) noexcept {
  const TickMoment now = read_tick_moment();
  format::HostWait record;
  record.thread = this_thread_id();
  record.begin_ns = host_waits.clock.time_of(wait.begin_ticks, now);
  const std::int64_t end_ns = host_waits.clock.time_of(wait.end_ticks, now);
  const std::int64_t duration_ns = end_ns - record.begin_ns;
  if (duration_ns < format::kShortestHostWaitNs) return;
  record.duration_ns = static_cast<std::uint64_t>(duration_ns);
  record.call = wait.call;
  record.object = object_of(wait);
  record.flags = flags_of(wait, call_errno);
  record.waker = wait.waker;
  if (has_signallers(wait.call)) {
    const Wake wake = host_waits.wakes.find(wait.object, wait.begin_ticks, wait.end_ticks);
    record.waker = wake.thread;
    if (wake.thread != ThreadId{}) record.wake_ns = host_waits.clock.time_of(wake.ticks, now);
  }
  record.stack = wait.stack;
  if (wait.stack == StackId{}) {
    if (duration_ns >= kAlwaysWithStackNs || take_from_ration(end_ns)) {
      record.stack = capture_waiting_stack(readable_stacks(wait.call));
    } else {
      host_waits.rationed.fetch_add(1, std::memory_order_relaxed);
    }
  }
  push_event(record);
}

}  // namespace

StackId stack_before_wait(HostCall call) noexcept {
  const int saved_errno = errno;
  StackId stack{};
  if (is_recorded_thread()) {
    const SignalsBlocked blocked;
    const ReentryGuard entry;
    if (entry && take_from_ration(now_ns())) stack = capture_waiting_stack(readable_stacks(call));
  }
  errno = saved_errno;
  return stack;
}

void record_wait(const LongWait& wait) noexcept {
  const int saved_errno = errno;
  if (is_recorded_thread()) {
    const SignalsBlocked blocked;
    const ReentryGuard entry;
    if (entry) push_wait(wait, saved_errno);
  }
  errno = saved_errno;
}

void note_wake(std::uint64_t address) noexcept {
  if (inside_recorder.load(std::memory_order_relaxed)) return;
  const ThreadId thread = this_thread_id();
  const std::uint64_t ticks = read_ticks();
  host_waits.wakes.note(address, thread, ticks);
}

// Libraries that are loaded later stand behind the C library in the loader's list.
bool is_preloaded() noexcept {
  Dl_info ignored;
  void* own = nullptr;
  if (dladdr1(reinterpret_cast<void*>(&is_preloaded), &ignored, &own, RTLD_DL_LINKMAP) == 0) return false;
  for (const auto* library = static_cast<const link_map*>(own); library != nullptr; library = library->l_next) {
    if (library->l_name != nullptr && std::string_view(library->l_name).ends_with("/libc.so.6")) return true;
  }
  return false;
}

void prepare_host_waits() noexcept { host_waits.clock.start(); }

void switch_host_waits(bool on) noexcept {
  host_waits.process.store(getpid(), std::memory_order_relaxed);
  shortest_wait_ticks.store(on ? host_waits.clock.ticks_of(format::kShortestHostWaitNs) : 0, std::memory_order_relaxed);
}

}  // namespace synctrace::capture
