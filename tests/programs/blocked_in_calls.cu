// SPDX-License-Identifier: Apache-2.0
// Threads that use CUDA and then run and sleep by turns, in calls that a signal could end, and check the result of
// each: nothing but the calls' own ends may ever be seen. Prints the calls made and how many of them failed, by error.
//   blocked_in_calls SECONDS           as it is
//   blocked_in_calls SECONDS signals   the program itself sends its threads signals with an empty SA_RESTART handler:
//                                      what a careless sampler would do
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <random>
#include <string>
#include <thread>

#include "example.h"

namespace {

std::atomic<bool> is_over{false};
std::atomic<long> calls{0};
std::atomic<long> interrupted{0};
std::atomic<long> wrong{0};

std::int64_t clock_us(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return now.tv_sec * 1'000'000LL + now.tv_nsec / 1000;
}

timespec after_us(clockid_t clock, long us) {
  const std::int64_t at = clock_us(clock) + us;
  return {static_cast<time_t>(at / 1'000'000), static_cast<long>(at % 1'000'000 * 1000)};
}

// A pipe that somebody writes to, a semaphore that somebody posts, a word that nobody wakes.
struct Things {
  int ends[2];
  int quiet[2];
  int epoll;
  sem_t semaphore;
  std::uint32_t word = 0;
};

// The call's result as it has to be, whatever else happens in the process.
void check(const char* name, long result, bool is_right) {
  ++calls;
  if (result == -1 && errno == EINTR) {
    if (interrupted++ == 0) std::fprintf(stderr, "first EINTR from %s\n", name);
  } else if (!is_right) {
    if (wrong++ == 0) std::fprintf(stderr, "first wrong result from %s: %ld, %s\n", name, result, std::strerror(errno));
  }
}

void make_call(int which, long us, Things& things) {
  const timespec relative{0, us * 1000};
  const std::int64_t begin_us = clock_us(CLOCK_MONOTONIC);
  const auto slept = [&] { return clock_us(CLOCK_MONOTONIC) - begin_us >= us; };
  char byte;
  long result;
  switch (which) {
    case 0: {
      pollfd one{things.quiet[0], POLLIN, 0};
      result = poll(&one, 1, static_cast<int>(us / 1000));
      return check("poll", result, result == 0);
    }
    case 1: result = nanosleep(&relative, nullptr); return check("nanosleep", result, result == 0 && slept());
    case 2: {
      timespec rest{};
      result = nanosleep(&relative, &rest);
      return check("nanosleep with a rest", result, result == 0);
    }
    case 3: result = read(things.ends[0], &byte, 1); return check("read", result, result == 1);
    case 4: result = sem_wait(&things.semaphore); return check("sem_wait", result, result == 0);
    case 5: {
      const timespec at = after_us(CLOCK_REALTIME, us);
      sem_t none;
      sem_init(&none, 0, 0);
      result = sem_timedwait(&none, &at);
      return check("sem_timedwait", result, result == -1 && errno == ETIMEDOUT);
    }
    case 6: {
      epoll_event event;
      result = epoll_wait(things.epoll, &event, 1, static_cast<int>(us / 1000));
      return check("epoll_wait", result, result == 0);
    }
    case 7:
      result = syscall(SYS_futex, &things.word, FUTEX_WAIT_PRIVATE, 0, &relative, nullptr, 0);
      return check("futex", result, result == -1 && errno == ETIMEDOUT && slept());
    case 8: {
      pollfd one{things.ends[0], POLLIN, 0};
      result = poll(&one, 1, -1);
      return check("poll without a limit", result, result == 1);
    }
    default: result = usleep(static_cast<useconds_t>(us)); return check("usleep", result, result == 0 && slept());
  }
}

// Runs for a moment, sleeps for a moment.
void alternate(unsigned seed, Things& things) {
  void* memory;
  CHECK(cudaMalloc(&memory, 64));
  CHECK(cudaFree(memory));
  std::minstd_rand random(seed);
  while (!is_over) {
    const std::int64_t until_us = clock_us(CLOCK_MONOTONIC) + random() % 300;
    while (clock_us(CLOCK_MONOTONIC) < until_us) {
    }
    make_call(static_cast<int>(random() % 10), 1000 + random() % 2000, things);
  }
}

void feed_pipe(Things& things) {
  if (write(things.ends[1], "x", 1) != 1) std::abort();
}

// Ends the waits that do not end by themselves, but not at once.
void feed(Things& things) {
  while (!is_over) {
    usleep(500);
    int bytes = 0;
    int posts = 0;
    if (ioctl(things.ends[0], FIONREAD, &bytes) == 0 && bytes < 2) feed_pipe(things);
    if (sem_getvalue(&things.semaphore, &posts) == 0 && posts < 2) sem_post(&things.semaphore);
  }
  for (int i = 0; i < 64; ++i) {
    feed_pipe(things);
    sem_post(&things.semaphore);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int seconds = argc > 1 ? std::atoi(argv[1]) : 1;
  const bool sends_signals = argc > 2 && std::string(argv[2]) == "signals";
  constexpr int kThreads = 4;
  Things things;
  if (pipe(things.ends) != 0 || pipe(things.quiet) != 0) return 1;
  things.epoll = epoll_create1(0);
  epoll_event event{};
  epoll_ctl(things.epoll, EPOLL_CTL_ADD, things.quiet[0], &event);
  sem_init(&things.semaphore, 0, 0);
  if (sends_signals) {
    struct sigaction action {};
    action.sa_handler = [](int) {};
    action.sa_flags = SA_RESTART;
    sigaction(SIGUSR1, &action, nullptr);
  }

  std::thread feeder(feed, std::ref(things));
  std::vector<std::thread> workers;
  for (unsigned i = 0; i < kThreads; ++i) workers.emplace_back(alternate, i + 1, std::ref(things));
  const std::int64_t end_us = clock_us(CLOCK_MONOTONIC) + seconds * 1'000'000LL;
  while (clock_us(CLOCK_MONOTONIC) < end_us) {
    usleep(1000);
    if (!sends_signals) continue;
    for (std::thread& worker : workers) pthread_kill(worker.native_handle(), SIGUSR1);
  }
  is_over = true;
  for (std::thread& worker : workers) worker.join();
  feeder.join();
  std::fprintf(stderr, "calls %ld\n", calls.load());
  std::printf("interrupted %ld wrong %ld\n", interrupted.load(), wrong.load());
  return 0;
}
