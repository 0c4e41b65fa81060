// SPDX-License-Identifier: Apache-2.0
// A program as it was linked twenty years ago: conditions of GLIBC_2.2.5, which are pointers to the real ones, beside
// those of today; semaphores and joins of before libpthread became a part of libc. Prints what came out.
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

#include <atomic>
#include <ctime>

#include "example.h"

#if defined(__x86_64__)
#define OLD_CONDITIONS 1
#define FIRST_VERSION "GLIBC_2.2.5"
#else
#define OLD_CONDITIONS 0
#define FIRST_VERSION "GLIBC_2.17"
#endif

extern "C" {
int old_cond_wait(void**, pthread_mutex_t*);
int old_cond_timedwait(void**, pthread_mutex_t*, const timespec*);
int old_cond_signal(void**);
int old_cond_broadcast(void**);
int old_sem_wait(sem_t*);
int old_sem_timedwait(sem_t*, const timespec*);
int old_sem_post(sem_t*);
int old_join(pthread_t, void**);
int old_clock_nanosleep(clockid_t, int, const timespec*, timespec*);
}
#if OLD_CONDITIONS
asm(".symver old_cond_wait, pthread_cond_wait@" FIRST_VERSION);
asm(".symver old_cond_timedwait, pthread_cond_timedwait@" FIRST_VERSION);
asm(".symver old_cond_signal, pthread_cond_signal@" FIRST_VERSION);
asm(".symver old_cond_broadcast, pthread_cond_broadcast@" FIRST_VERSION);
asm(".symver old_clock_nanosleep, clock_nanosleep@" FIRST_VERSION);
#endif
asm(".symver old_sem_wait, sem_wait@" FIRST_VERSION);
asm(".symver old_sem_timedwait, sem_timedwait@" FIRST_VERSION);
asm(".symver old_sem_post, sem_post@" FIRST_VERSION);
asm(".symver old_join, pthread_join@" FIRST_VERSION);

namespace {

timespec in_ms(long ms) {
  timespec limit;
  clock_gettime(CLOCK_REALTIME, &limit);
  limit.tv_nsec += ms * 1'000'000;
  limit.tv_sec += limit.tv_nsec / 1'000'000'000;
  limit.tv_nsec %= 1'000'000'000;
  return limit;
}

struct Shared {
  // Eight bytes as the old library had it, and a guard that a newer one would write into.
  void* old_condition = nullptr;
  unsigned char guard[64];
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  sem_t semaphore;
  int turn = 0;
};

void* answer(void* argument) {
  Shared& s = *static_cast<Shared*>(argument);
  for (int turn = 1; turn < 20; turn += 2) {
    pthread_mutex_lock(&s.mutex);
#if OLD_CONDITIONS
    while (s.turn != turn) old_cond_wait(&s.old_condition, &s.mutex);
    usleep(500);  // the other thread's wait is long
    ++s.turn;
    turn % 4 == 1 ? old_cond_signal(&s.old_condition) : old_cond_broadcast(&s.old_condition);
#else
    while (s.turn != turn) pthread_cond_wait(&s.condition, &s.mutex);
    ++s.turn;
    pthread_cond_signal(&s.condition);
#endif
    pthread_mutex_unlock(&s.mutex);
  }
  usleep(2000);
  old_sem_post(&s.semaphore);
  return argument;
}

}  // namespace

int main() {
  CHECK(cudaFree(nullptr));
  Shared s;
  std::memset(s.guard, 0x5a, sizeof s.guard);
  sem_init(&s.semaphore, 0, 0);
  pthread_t thread;
  pthread_create(&thread, nullptr, answer, &s);
  for (int turn = 0; turn < 20; turn += 2) {
    usleep(1000);
    pthread_mutex_lock(&s.mutex);
#if OLD_CONDITIONS
    ++s.turn;
    old_cond_signal(&s.old_condition);
    while (s.turn != turn + 2) old_cond_wait(&s.old_condition, &s.mutex);
#else
    ++s.turn;
    pthread_cond_signal(&s.condition);
    while (s.turn != turn + 2) pthread_cond_wait(&s.condition, &s.mutex);
#endif
    pthread_mutex_unlock(&s.mutex);
  }
  std::printf("turn %d\n", s.turn);
  std::printf("sem_wait %d\n", old_sem_wait(&s.semaphore));
  const timespec soon = in_ms(3);
  std::printf("sem_timedwait %d\n", old_sem_timedwait(&s.semaphore, &soon));
  void* result = nullptr;
  const int joined = old_join(thread, &result);
  std::printf("pthread_join %d %d\n", joined, result == &s);
#if OLD_CONDITIONS
  pthread_mutex_lock(&s.mutex);
  const timespec later = in_ms(3);
  std::printf("old pthread_cond_timedwait %d\n", old_cond_timedwait(&s.old_condition, &s.mutex, &later));
  pthread_mutex_unlock(&s.mutex);
  const timespec moment{0, 2'000'000};
  std::printf("old clock_nanosleep %d\n", old_clock_nanosleep(CLOCK_MONOTONIC, 0, &moment, nullptr));
#endif
  bool whole = true;
  for (const unsigned char byte : s.guard) whole = whole && byte == 0x5a;
  std::printf("guard %d\n", whole);
  CHECK(cudaDeviceSynchronize());
  return 0;
}
