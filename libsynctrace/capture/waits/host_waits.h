// SPDX-License-Identifier: Apache-2.0
// Host waits: how long a thread of the program slept in one of the C library's blocking calls, and who woke it. The
// interposed functions (host_waits_threads, _files, _syscall) time their call with timed(); what was long comes here.
//
// While nothing is recorded an interposed call costs one load and one branch. While recording it costs two reads of the
// CPU's counter. Only a wait of more than 50 us, of a thread that uses CUDA or runs Python, becomes a record.
//
// All of it may run in signal handlers, be cancelled and be left by longjmp: before the call nothing is stored
// anywhere, and what happens after a long one happens with all signals blocked.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <type_traits>

#include "base/ids.h"
#include "capture/process/cpu_ticks.h"
#include "capture/process/recorder_state.h"
#include "capture/process/reentry_guard.h"
#include "capture/waits/wake_table.h"
#include "format/records.h"

namespace synctrace::capture {

using format::HostCall;

// format::kShortestHostWaitNs in ticks; 0: host waits are not recorded in this process.
inline constinit std::atomic<std::uint64_t> shortest_wait_ticks{0};

inline bool host_waits_on() noexcept {
  return recording_waits() && shortest_wait_ticks.load(std::memory_order_relaxed) != 0;
}

// What the waits of all threads share.
struct HostWaits {
  WakeTable wakes;
  TickClock clock;
  std::atomic<pid_t> process{0};           // the one that is recorded
  std::atomic<std::uint64_t> rationed{0};  // waits without a stack, because their thread had used up its ration
};

// The recorder's.
[[gnu::visibility("hidden")]] extern HostWaits& host_waits;

struct LongWait {
  HostCall call{};
  std::uint64_t object = 0;  // address waited on, or file descriptor
  std::uint64_t begin_ticks = 0;
  std::uint64_t end_ticks = 0;
  long result = 0;   // what the call returned; errno is still the call's
  ThreadId waker{};  // where the call itself tells it
  StackId stack{};   // where it was taken before the call
};

// The places where this thread's last wait was long, a bit for all of the same hash. Behind a wait a stack delays what
// the wait was for, in front of one it costs nothing: so where the last one was long, the next one's is taken first.
inline thread_local __attribute__((tls_model("initial-exec"))) constinit std::atomic<std::uint64_t> long_wait_sites{0};

constexpr std::uint64_t wait_site(HostCall call, std::uint64_t object) noexcept {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;  // 2^64 / golden ratio
  return std::uint64_t{1} << (((object + number(call)) * kOdd) >> 58);
}

// In front of a call that is likely to wait; zero when none can be taken. Keeps errno.
StackId stack_before_wait(HostCall call) noexcept;

// On the waiting thread, still inside the interposed call. Keeps errno.
void record_wait(const LongWait& wait) noexcept;

// Before the call that wakes: the calling thread signals the address.
void note_wake(std::uint64_t address) noexcept;

// Asked once, when recording starts. False when the loader did not put us before the C library (injected without
// LD_PRELOAD): then no call of the program comes to us.
bool is_preloaded() noexcept;

// When the recorder starts: begins to learn the counter's rate. Later they are switched on.
void prepare_host_waits() noexcept;
void switch_host_waits(bool on) noexcept;

template <class Value>
std::uint64_t as_object(Value value) noexcept {
  if constexpr (std::is_pointer_v<Value>) {
    return reinterpret_cast<std::uintptr_t>(value);
  } else {
    return static_cast<std::uint64_t>(value);
  }
}

// Calls `next` with the arguments; no object of ours lives across it, so cancellation and longjmp may leave it.
template <HostCall kCall, class Next, class... Arguments>
inline auto timed(const Next& next, std::uint64_t object, Arguments... arguments) {
  if (!host_waits_on() || inside_recorder.load(std::memory_order_relaxed)) [[likely]]
    return next(arguments...);
  const std::uint64_t site = wait_site(kCall, object);
  const std::uint64_t sites = long_wait_sites.load(std::memory_order_relaxed);
  const StackId stack = (sites & site) == 0 ? StackId{} : stack_before_wait(kCall);
  const std::uint64_t begin = read_ticks();
  const auto result = next(arguments...);
  const std::uint64_t end = read_ticks();
  if (end - begin >= shortest_wait_ticks.load(std::memory_order_relaxed)) [[unlikely]] {
    long_wait_sites.store(sites | site, std::memory_order_relaxed);
    record_wait({kCall, object, begin, end, static_cast<long>(result), ThreadId{}, stack});
  } else if ((sites & site) != 0) {
    long_wait_sites.store(sites & ~site, std::memory_order_relaxed);
  }
  return result;
}

}  // namespace synctrace::capture
