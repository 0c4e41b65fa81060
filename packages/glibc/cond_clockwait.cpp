// SPDX-License-Identifier: Apache-2.0
// glibc 2.30: std::condition_variable waits by the monotonic clock. Here the deadline moves to the clock that
// conditions have always known; a clock that is set back meanwhile makes the wait longer.
#include <time.h>

extern "C" int pthread_cond_timedwait(void* condition, void* mutex, const timespec* deadline);
extern "C" __attribute__((visibility("hidden"))) int pthread_cond_clockwait(void* condition, void* mutex,
                                                                            clockid_t clock, const timespec* deadline);

int pthread_cond_clockwait(void* condition, void* mutex, clockid_t clock, const timespec* deadline) {
  constexpr long kSecond = 1'000'000'000;
  timespec now{};
  timespec moved{};
  clock_gettime(clock, &now);
  clock_gettime(CLOCK_REALTIME, &moved);
  moved.tv_sec += deadline->tv_sec - now.tv_sec;
  moved.tv_nsec += deadline->tv_nsec - now.tv_nsec;
  for (; moved.tv_nsec < 0; moved.tv_nsec += kSecond) --moved.tv_sec;
  for (; moved.tv_nsec >= kSecond; moved.tv_nsec -= kSecond) ++moved.tv_sec;
  return pthread_cond_timedwait(condition, mutex, &moved);
}
