// SPDX-License-Identifier: Apache-2.0
// The C library's blocking calls as a list, each in a form that waits for ever when nobody comes: for programs that
// cancel them, jump out of them and interrupt them.
#pragma once

#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <ctime>

struct Things {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  sem_t semaphore;
  int word = 0;
  int pipe[2];
  int epoll;
  pthread_t sleeper;  // a thread that never ends by itself

  Things() {
    sem_init(&semaphore, 0, 0);
    if (::pipe(pipe) != 0) std::abort();
    epoll = epoll_create1(0);
    epoll_event event{};
    event.events = EPOLLIN;
    epoll_ctl(epoll, EPOLL_CTL_ADD, pipe[0], &event);
    pthread_create(
        &sleeper, nullptr,
        [](void*) -> void* {
          for (;;) pause();
        },
        nullptr);
  }
  ~Things() {
    pthread_cancel(sleeper);
    pthread_join(sleeper, nullptr);
    close(pipe[0]);
    close(pipe[1]);
    close(epoll);
    sem_destroy(&semaphore);
  }
};

inline timespec in_an_hour(clockid_t clock) {
  timespec limit;
  clock_gettime(clock, &limit);
  limit.tv_sec += 3600;
  return limit;
}

// What the call returned, and -1 with errno as a negative number.
inline int outcome(long result) { return result < 0 ? -errno : static_cast<int>(result); }

inline void unlock(void* mutex) { pthread_mutex_unlock(static_cast<pthread_mutex_t*>(mutex)); }

// A condition is waited for under its mutex, which a cancelled wait owns again. No loop: a wait that a signal ends may
// come back.
template <class Wait>
int locked(Things& t, Wait wait) {
  int error = 0;
  pthread_mutex_lock(&t.mutex);
  pthread_cleanup_push(unlock, &t.mutex);
  error = wait();
  pthread_cleanup_pop(1);
  return error;
}

struct BlockingCall {
  const char* name;
  int (*wait)(Things&);
  bool is_cancellation_point = true;
  bool ends_by_signal = true;  // with EINTR; the others go on waiting
};

inline fd_set one_file(int file) {
  fd_set files;
  FD_ZERO(&files);
  FD_SET(file, &files);
  return files;
}

inline const BlockingCall kBlockingCalls[] = {
    {"pthread_cond_wait",
     [](Things& t) { return locked(t, [&] { return pthread_cond_wait(&t.condition, &t.mutex); }); }, true, false},
    {"pthread_cond_timedwait",
     [](Things& t) {
       const timespec limit = in_an_hour(CLOCK_REALTIME);
       return locked(t, [&] { return pthread_cond_timedwait(&t.condition, &t.mutex, &limit); });
     },
     true, false},
    {"pthread_cond_clockwait",
     [](Things& t) {
       const timespec limit = in_an_hour(CLOCK_MONOTONIC);
       return locked(t, [&] { return pthread_cond_clockwait(&t.condition, &t.mutex, CLOCK_MONOTONIC, &limit); });
     },
     true, false},
    {"pthread_join", [](Things& t) { return pthread_join(t.sleeper, nullptr); }, true, false},
    {"pthread_timedjoin_np",
     [](Things& t) {
       const timespec limit = in_an_hour(CLOCK_REALTIME);
       return pthread_timedjoin_np(t.sleeper, nullptr, &limit);
     },
     true, false},
    {"pthread_clockjoin_np",
     [](Things& t) {
       const timespec limit = in_an_hour(CLOCK_MONOTONIC);
       return pthread_clockjoin_np(t.sleeper, nullptr, CLOCK_MONOTONIC, &limit);
     },
     true, false},
    {"sem_wait", [](Things& t) { return outcome(sem_wait(&t.semaphore)); }},
    {"sem_timedwait",
     [](Things& t) {
       const timespec limit = in_an_hour(CLOCK_REALTIME);
       return outcome(sem_timedwait(&t.semaphore, &limit));
     }},
    {"sem_clockwait",
     [](Things& t) {
       const timespec limit = in_an_hour(CLOCK_MONOTONIC);
       return outcome(sem_clockwait(&t.semaphore, CLOCK_MONOTONIC, &limit));
     }},
    {"futex", [](Things& t) { return outcome(syscall(SYS_futex, &t.word, FUTEX_WAIT, 0, nullptr, nullptr, 0)); },
     false},
    {"read",
     [](Things& t) {
       char byte;
       return outcome(read(t.pipe[0], &byte, 1));
     }},
    {"poll",
     [](Things& t) {
       pollfd file{t.pipe[0], POLLIN, 0};
       return outcome(poll(&file, 1, -1));
     }},
    {"ppoll",
     [](Things& t) {
       pollfd file{t.pipe[0], POLLIN, 0};
       return outcome(ppoll(&file, 1, nullptr, nullptr));
     }},
    {"epoll_wait",
     [](Things& t) {
       epoll_event event;
       return outcome(epoll_wait(t.epoll, &event, 1, -1));
     }},
    {"epoll_pwait",
     [](Things& t) {
       epoll_event event;
       return outcome(epoll_pwait(t.epoll, &event, 1, -1, nullptr));
     }},
    {"select",
     [](Things& t) {
       fd_set files = one_file(t.pipe[0]);
       return outcome(select(t.pipe[0] + 1, &files, nullptr, nullptr, nullptr));
     }},
    {"pselect",
     [](Things& t) {
       fd_set files = one_file(t.pipe[0]);
       return outcome(pselect(t.pipe[0] + 1, &files, nullptr, nullptr, nullptr, nullptr));
     }},
    {"nanosleep",
     [](Things&) {
       const timespec hour{3600, 0};
       return outcome(nanosleep(&hour, nullptr));
     }},
    {"clock_nanosleep",
     [](Things&) {
       const timespec limit = in_an_hour(CLOCK_MONOTONIC);
       return clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &limit, nullptr);
     }},
    {"usleep", [](Things&) { return outcome(usleep(3'600'000'000U)); }},
    {"sleep", [](Things&) { return sleep(3600) > 3000 ? -EINTR : 0; }},
};
