// SPDX-License-Identifier: Apache-2.0
// Interposed: waits for other threads, and the calls that end them. Compiled into the library alone, not into tests:
// whatever links this file is interposed.
#include <pthread.h>
#include <semaphore.h>

#include "capture/waits/host_waits_bind.h"
#include "capture/waits/host_waits_versions.h"

namespace synctrace::capture {
namespace {

// The kernel's number of a thread that runs. The C library packs it into the id of the thread's CPU clock.
ThreadId thread_of(pthread_t thread) noexcept {
  clockid_t clock = 0;
  if (pthread_getcpuclockid(thread, &clock) != 0) return ThreadId{};
  return static_cast<ThreadId>(~(clock >> 3));
}

// The thread that ends is the one that wakes.
template <class Next, class... Arguments>
int joined(const Next& next, pthread_t thread, Arguments... arguments) {
  if (!host_waits_on() || inside_recorder.load(std::memory_order_relaxed)) return next(thread, arguments...);
  const ThreadId waker = thread_of(thread);
  const std::uint64_t begin = read_ticks();
  const int result = next(thread, arguments...);
  const std::uint64_t end = read_ticks();
  if (end - begin >= shortest_wait_ticks.load(std::memory_order_relaxed)) {
    record_wait({HostCall::kJoin, thread, begin, end, result, result == 0 ? waker : ThreadId{}, StackId{}});
  }
  return result;
}

template <class Next, class Object>
int signalled(const Next& next, Object* object) {
  if (host_waits_on()) note_wake(as_object(object));
  return next(object);
}

// CPython signals a condition whenever it gives up the interpreter lock, thousands of times a second, mostly to nobody.
// The C library itself returns at once where this field counts no waiter (glibc 2.25 and later; not its old condition).
template <class Next>
int signalled_if_awaited(const Next& next, pthread_cond_t* condition) {
  constexpr unsigned kOneWaiter = 8;
  const unsigned waiters = __atomic_load_n(&condition->__data.__wrefs, __ATOMIC_RELAXED);
  return waiters < kOneWaiter ? next(condition) : signalled(next, condition);
}

}  // namespace

#define SYNCTRACE_CONDITION(id, at, version, note)                                                                     \
  SYNCTRACE_NEXT(wait##id, "pthread_cond_wait", at, version, kErrorNumber, int, pthread_cond_t*, pthread_mutex_t*)     \
  SYNCTRACE_DOOR(wait##id, "pthread_cond_wait", at, version, int, pthread_cond_t* condition, pthread_mutex_t* mutex) { \
    return timed<HostCall::kCondition>(next_wait##id, as_object(condition), condition, mutex);                         \
  }                                                                                                                    \
  SYNCTRACE_NEXT(timedwait##id, "pthread_cond_timedwait", at, version, kErrorNumber, int, pthread_cond_t*,             \
                 pthread_mutex_t*, const timespec*)                                                                    \
  SYNCTRACE_DOOR(timedwait##id, "pthread_cond_timedwait", at, version, int, pthread_cond_t* condition,                 \
                 pthread_mutex_t* mutex, const timespec* deadline) {                                                   \
    return timed<HostCall::kCondition>(next_timedwait##id, as_object(condition), condition, mutex, deadline);          \
  }                                                                                                                    \
  SYNCTRACE_NEXT(signal##id, "pthread_cond_signal", at, version, kErrorNumber, int, pthread_cond_t*)                   \
  SYNCTRACE_DOOR(signal##id, "pthread_cond_signal", at, version, int, pthread_cond_t* condition) {                     \
    return note(next_signal##id, condition);                                                                           \
  }                                                                                                                    \
  SYNCTRACE_NEXT(broadcast##id, "pthread_cond_broadcast", at, version, kErrorNumber, int, pthread_cond_t*)             \
  SYNCTRACE_DOOR(broadcast##id, "pthread_cond_broadcast", at, version, int, pthread_cond_t* condition) {               \
    return note(next_broadcast##id, condition);                                                                        \
  }

#define SYNCTRACE_CONDITION_CLOCK(id, at, version)                                                                   \
  SYNCTRACE_NEXT(clockwait##id, "pthread_cond_clockwait", at, version, kErrorNumber, int, pthread_cond_t*,           \
                 pthread_mutex_t*, clockid_t, const timespec*)                                                       \
  SYNCTRACE_DOOR(clockwait##id, "pthread_cond_clockwait", at, version, int, pthread_cond_t* condition,               \
                 pthread_mutex_t* mutex, clockid_t clock, const timespec* deadline) {                                \
    return timed<HostCall::kCondition>(next_clockwait##id, as_object(condition), condition, mutex, clock, deadline); \
  }

#define SYNCTRACE_SEMAPHORE(id, at, version)                                                                         \
  SYNCTRACE_NEXT(sem_wait##id, "sem_wait", at, version, kMinusOne, int, sem_t*)                                      \
  SYNCTRACE_DOOR(sem_wait##id, "sem_wait", at, version, int, sem_t* semaphore) {                                     \
    return timed<HostCall::kSemaphore>(next_sem_wait##id, as_object(semaphore), semaphore);                          \
  }                                                                                                                  \
  SYNCTRACE_NEXT(sem_timedwait##id, "sem_timedwait", at, version, kMinusOne, int, sem_t*, const timespec*)           \
  SYNCTRACE_DOOR(sem_timedwait##id, "sem_timedwait", at, version, int, sem_t* semaphore, const timespec* deadline) { \
    return timed<HostCall::kSemaphore>(next_sem_timedwait##id, as_object(semaphore), semaphore, deadline);           \
  }                                                                                                                  \
  SYNCTRACE_NEXT(sem_post##id, "sem_post", at, version, kMinusOne, int, sem_t*)                                      \
  SYNCTRACE_DOOR(sem_post##id, "sem_post", at, version, int, sem_t* semaphore) {                                     \
    return signalled(next_sem_post##id, semaphore);                                                                  \
  }

#define SYNCTRACE_SEMAPHORE_CLOCK(id, at, version)                                                                    \
  SYNCTRACE_NEXT(sem_clockwait##id, "sem_clockwait", at, version, kMinusOne, int, sem_t*, clockid_t, const timespec*) \
  SYNCTRACE_DOOR(sem_clockwait##id, "sem_clockwait", at, version, int, sem_t* semaphore, clockid_t clock,             \
                 const timespec* deadline) {                                                                          \
    return timed<HostCall::kSemaphore>(next_sem_clockwait##id, as_object(semaphore), semaphore, clock, deadline);     \
  }

#define SYNCTRACE_JOIN(id, at, version)                                                         \
  SYNCTRACE_NEXT(join##id, "pthread_join", at, version, kErrorNumber, int, pthread_t, void**)   \
  SYNCTRACE_DOOR(join##id, "pthread_join", at, version, int, pthread_t thread, void** result) { \
    return joined(next_join##id, thread, result);                                               \
  }

#define SYNCTRACE_JOIN_TIMED(id, at, version)                                                              \
  SYNCTRACE_NEXT(timedjoin##id, "pthread_timedjoin_np", at, version, kErrorNumber, int, pthread_t, void**, \
                 const timespec*)                                                                          \
  SYNCTRACE_DOOR(timedjoin##id, "pthread_timedjoin_np", at, version, int, pthread_t thread, void** result, \
                 const timespec* deadline) {                                                               \
    return joined(next_timedjoin##id, thread, result, deadline);                                           \
  }

#define SYNCTRACE_JOIN_CLOCK(id, at, version)                                                                         \
  SYNCTRACE_NEXT(clockjoin##id, "pthread_clockjoin_np", at, version, kErrorNumber, int, pthread_t, void**, clockid_t, \
                 const timespec*)                                                                                     \
  SYNCTRACE_DOOR(clockjoin##id, "pthread_clockjoin_np", at, version, int, pthread_t thread, void** result,            \
                 clockid_t clock, const timespec* deadline) {                                                         \
    return joined(next_clockjoin##id, thread, result, clock, deadline);                                               \
  }

SYNCTRACE_CONDITION(, "@@", SYNCTRACE_V2_3_2, signalled_if_awaited)
#if defined(__x86_64__)
SYNCTRACE_CONDITION(_2_2_5, "@", SYNCTRACE_V2_2_5, signalled)
#endif
SYNCTRACE_CONDITION_CLOCK(, "@@", SYNCTRACE_V2_34)
SYNCTRACE_CONDITION_CLOCK(_2_30, "@", SYNCTRACE_V2_30)
SYNCTRACE_SEMAPHORE(, "@@", SYNCTRACE_V2_34)
SYNCTRACE_SEMAPHORE(_2_2_5, "@", SYNCTRACE_V2_2_5)
SYNCTRACE_SEMAPHORE_CLOCK(, "@@", SYNCTRACE_V2_34)
SYNCTRACE_SEMAPHORE_CLOCK(_2_30, "@", SYNCTRACE_V2_30)
SYNCTRACE_JOIN(, "@@", SYNCTRACE_V2_34)
SYNCTRACE_JOIN(_2_2_5, "@", SYNCTRACE_V2_2_5)
SYNCTRACE_JOIN_TIMED(, "@@", SYNCTRACE_V2_34)
SYNCTRACE_JOIN_TIMED(_2_3_3, "@", SYNCTRACE_V2_3_3)
SYNCTRACE_JOIN_CLOCK(, "@@", SYNCTRACE_V2_34)
SYNCTRACE_JOIN_CLOCK(_2_31, "@", SYNCTRACE_V2_31)

void bind_thread_calls() noexcept {
  const auto bind = [](auto&... next) { (next.bind(), ...); };
  bind(next_wait, next_timedwait, next_signal, next_broadcast, next_clockwait, next_clockwait_2_30);
#if defined(__x86_64__)
  bind(next_wait_2_2_5, next_timedwait_2_2_5, next_signal_2_2_5, next_broadcast_2_2_5);
#endif
  bind(next_sem_wait, next_sem_wait_2_2_5, next_sem_timedwait, next_sem_timedwait_2_2_5, next_sem_post,
       next_sem_post_2_2_5, next_sem_clockwait, next_sem_clockwait_2_30);
  bind(next_join, next_join_2_2_5, next_timedjoin, next_timedjoin_2_3_3, next_clockjoin, next_clockjoin_2_31);
}

}  // namespace synctrace::capture
