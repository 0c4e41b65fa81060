// SPDX-License-Identifier: Apache-2.0
// What the C library's blocking calls answer: at their limits, to wrong arguments, and what they do to errno when all
// is well. Prints each answer.
#include <sys/mman.h>

#include <string>

#include "blocking_call_list.h"
#include "example.h"

namespace {

constexpr int kMark = 77;

// A result, and errno after it, which was kMark before.
template <class Call>
void show(const char* name, Call call) {
  errno = kMark;
  const long result = call();
  std::printf("%s = %ld, errno %d\n", name, result, errno);
}

// Nothing is mapped there, and the compiler does not know.
template <class Object>
Object* bad_address() {
  static volatile std::uintptr_t address = 8;
  return reinterpret_cast<Object*>(address);
}

timespec ago() {
  timespec limit;
  clock_gettime(CLOCK_REALTIME, &limit);
  limit.tv_sec -= 10;
  return limit;
}

void limits_in_the_past(Things& t) {
  const timespec past = ago();
  const timespec start{1, 0};  // long ago on the monotonic clock
  const timespec none{0, 0};
  show("pthread_cond_timedwait past",
       [&] { return locked(t, [&] { return pthread_cond_timedwait(&t.condition, &t.mutex, &past); }); });
  show("pthread_cond_clockwait past", [&] {
    return locked(t, [&] { return pthread_cond_clockwait(&t.condition, &t.mutex, CLOCK_MONOTONIC, &start); });
  });
  show("sem_timedwait past", [&] { return sem_timedwait(&t.semaphore, &past); });
  show("sem_clockwait past", [&] { return sem_clockwait(&t.semaphore, CLOCK_MONOTONIC, &start); });
  show("pthread_timedjoin_np past", [&] { return pthread_timedjoin_np(t.sleeper, nullptr, &past); });
  show("pthread_clockjoin_np past", [&] { return pthread_clockjoin_np(t.sleeper, nullptr, CLOCK_MONOTONIC, &start); });
  show("pthread_tryjoin_np", [&] { return pthread_tryjoin_np(t.sleeper, nullptr); });
  pollfd file{t.pipe[0], POLLIN, 0};
  epoll_event event;
  timeval zero{0, 0};
  show("poll 0", [&] { return poll(&file, 1, 0); });
  show("ppoll 0", [&] { return ppoll(&file, 1, &none, nullptr); });
  show("epoll_wait 0", [&] { return epoll_wait(t.epoll, &event, 1, 0); });
  show("epoll_pwait 0", [&] { return epoll_pwait(t.epoll, &event, 1, 0, nullptr); });
  show("select 0", [&] {
    fd_set files = one_file(t.pipe[0]);
    return select(t.pipe[0] + 1, &files, nullptr, nullptr, &zero);
  });
  show("pselect 0", [&] {
    fd_set files = one_file(t.pipe[0]);
    return pselect(t.pipe[0] + 1, &files, nullptr, nullptr, &none, nullptr);
  });
  show("nanosleep 0", [&] { return nanosleep(&none, nullptr); });
  show("clock_nanosleep past", [&] { return clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &past, nullptr); });
  show("usleep 0", [] { return usleep(0); });
  show("sleep 0", [] { return sleep(0); });
  show("futex past",
       [&] { return syscall(SYS_futex, &t.word, FUTEX_WAIT_BITSET, 0, &start, nullptr, FUTEX_BITSET_MATCH_ANY); });
}

void short_limits(Things& t) {
  const timespec moment{0, 2'000'000};
  pollfd file{t.pipe[0], POLLIN, 0};
  epoll_event event;
  timeval limit{0, 2'000};
  show("poll 2 ms", [&] { return poll(&file, 1, 2); });
  show("ppoll 2 ms", [&] { return ppoll(&file, 1, &moment, nullptr); });
  show("epoll_wait 2 ms", [&] { return epoll_wait(t.epoll, &event, 1, 2); });
  show("select 2 ms", [&] {
    fd_set files = one_file(t.pipe[0]);
    return select(t.pipe[0] + 1, &files, nullptr, nullptr, &limit);
  });
  std::printf("select left %ld s %ld us\n", static_cast<long>(limit.tv_sec), static_cast<long>(limit.tv_usec));
  show("nanosleep 2 ms", [&] { return nanosleep(&moment, nullptr); });
  show("usleep 2 ms", [] { return usleep(2000); });
  show("futex 2 ms", [&] { return syscall(SYS_futex, &t.word, FUTEX_WAIT, 0, &moment, nullptr, 0); });
  show("futex changed", [&] { return syscall(SYS_futex, &t.word, FUTEX_WAIT, 1, &moment, nullptr, 0); });
}

void wrong_arguments(Things& t) {
  const timespec bad{0, 1'000'000'000};
  const timespec moment{0, 1};
  show("pthread_cond_timedwait bad time",
       [&] { return locked(t, [&] { return pthread_cond_timedwait(&t.condition, &t.mutex, &bad); }); });
  show("pthread_cond_clockwait bad clock", [&] {
    return locked(t, [&] { return pthread_cond_clockwait(&t.condition, &t.mutex, CLOCK_PROCESS_CPUTIME_ID, &moment); });
  });
  show("sem_timedwait bad time", [&] { return sem_timedwait(&t.semaphore, &bad); });
  show("sem_clockwait bad clock", [&] { return sem_clockwait(&t.semaphore, CLOCK_PROCESS_CPUTIME_ID, &moment); });
  show("pthread_join self", [] { return pthread_join(pthread_self(), nullptr); });
  show("read bad file", [] {
    char byte;
    return read(-1, &byte, 1);
  });
  show("poll bad list", [] { return poll(bad_address<pollfd>(), 1, 5); });
  show("epoll_wait bad file", [] {
    epoll_event event;
    return epoll_wait(-1, &event, 1, 0);
  });
  show("epoll_wait no room", [&] {
    epoll_event event;
    return epoll_wait(t.epoll, &event, 0, 0);
  });
  show("select bad count", [] { return select(-1, nullptr, nullptr, nullptr, nullptr); });
  show("nanosleep bad time", [&] { return nanosleep(&bad, nullptr); });
  show("clock_nanosleep bad clock", [&] { return clock_nanosleep(12345, 0, &moment, nullptr); });
  show("munmap bad address", [] { return munmap(reinterpret_cast<void*>(1), 4096); });
  show("munmap nothing", [] { return munmap(nullptr, 0); });
  show("futex bad address", [] { return syscall(SYS_futex, 8, FUTEX_WAIT, 0, nullptr, nullptr, 0); });
  show("futex bad operation", [&] { return syscall(SYS_futex, &t.word, 99, 0, nullptr, nullptr, 0); });
}

void calls_that_do_not_wait(Things& t) {
  sem_post(&t.semaphore);
  show("sem_wait", [&] { return sem_wait(&t.semaphore); });
  show("sem_post", [&] { return sem_post(&t.semaphore); });
  if (write(t.pipe[1], "ab", 2) != 2) std::abort();
  pollfd file{t.pipe[0], POLLIN, 0};
  epoll_event event;
  char byte;
  show("poll", [&] { return poll(&file, 1, -1); });
  show("epoll_wait", [&] { return epoll_wait(t.epoll, &event, 1, -1); });
  show("select", [&] {
    fd_set files = one_file(t.pipe[0]);
    return select(t.pipe[0] + 1, &files, nullptr, nullptr, nullptr);
  });
  show("read bad room", [&] { return read(t.pipe[0], bad_address<void>(), 1); });
  show("read", [&] { return read(t.pipe[0], &byte, 1); });
  show("pthread_cond_signal", [&] { return pthread_cond_signal(&t.condition); });
  show("pthread_cond_broadcast", [&] { return pthread_cond_broadcast(&t.condition); });
  void* memory = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  show("munmap", [&] { return munmap(memory, 4096); });
  pthread_t thread;
  pthread_create(
      &thread, nullptr, [](void*) -> void* { return reinterpret_cast<void*>(5); }, nullptr);
  void* result = nullptr;
  show("pthread_join", [&] { return pthread_join(thread, &result); });
  std::printf("joined %ld\n", reinterpret_cast<long>(result));
}

// syscall() with each number of arguments, and numbers near those that we look at.
void raw_calls() {
  show("getpid", [] { return syscall(SYS_getpid) - getpid(); });
  show("close", [] { return syscall(SYS_close, -1); });
  int ends[2];
  if (pipe(ends) != 0) std::abort();
  show("write", [&] { return syscall(SYS_write, ends[1], "abc", 3); });
  char text[4] = "";
  show("read", [&] { return syscall(SYS_read, ends[0], text, 3); });
  std::printf("read \"%s\"\n", text);
  void* memory = mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  show("mremap",
       [&] { return syscall(SYS_mremap, memory, 8192L, 4096L, 0, nullptr) - reinterpret_cast<long>(memory); });
  show("mmap", [&] {
    return syscall(SYS_mmap, memory, 4096L, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0L) -
           reinterpret_cast<long>(memory);
  });
  int words[2] = {0, 0};
  show("futex wake", [&] { return syscall(SYS_futex, &words[0], FUTEX_WAKE, 1); });
  show("futex wake op", [&] {
    return syscall(SYS_futex, &words[0], FUTEX_WAKE_OP, 1, 1L, &words[1],
                   FUTEX_OP(FUTEX_OP_SET, 7, FUTEX_OP_CMP_EQ, 0));
  });
  std::printf("second word %d\n", words[1]);
  show("futex requeue", [&] { return syscall(SYS_futex, &words[0], FUTEX_CMP_REQUEUE, 1, 1L, &words[1], 0); });
  show("-1", [] { return syscall(-1); });
  show("100000", [] { return syscall(100000, 1, 2, 3, 4, 5, 6); });
  for (const long number : {449L, 450L, 451L, 454L, 455L, 456L}) {
    // Wrong arguments: every kernel refuses them, an old one as unknown.
    errno = kMark;
    const long result = syscall(number, -1L, -1L, -1L, -1L, -1L, -1L);
    std::printf("%ld = %ld, errno %d\n", number, result, errno);
  }
}

}  // namespace

int main() {
  CHECK(cudaFree(nullptr));
  Things things;
  limits_in_the_past(things);
  short_limits(things);
  wrong_arguments(things);
  calls_that_do_not_wait(things);
  raw_calls();
  CHECK(cudaDeviceSynchronize());
  return 0;
}
