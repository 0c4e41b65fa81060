// SPDX-License-Identifier: Apache-2.0
// One long wait in each of the C library's blocking calls, on a thread that uses CUDA, each ended by another thread, by
// its own time limit or by a signal. stdout: the waits and how they ended, the same in every run. With a file name: one
// line of JSON for each wait, with its begin, its end and the threads, by the program's own clock.
//
//   host_waits [FILE [ROUNDS]]
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <ctime>
#include <thread>

#include "example.h"
#include "spin.h"

namespace {

constexpr long kWaitNs = 5 * 1000 * 1000;
constexpr long kPatienceNs = 10L * 1000 * 1000 * 1000;

long now_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000L + now.tv_nsec;
}

timespec to_timespec(long ns) { return {ns / 1'000'000'000, ns % 1'000'000'000}; }

timespec deadline(clockid_t clock, long ns) {
  timespec now;
  clock_gettime(clock, &now);
  return to_timespec(now.tv_sec * 1'000'000'000L + now.tv_nsec + ns);
}

int thread_number() { return static_cast<int>(syscall(SYS_gettid)); }

// What a wait and its waker share.
struct Shared {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  sem_t semaphore;
  int word = 0;  // a futex
  int pipe[2];
  int epoll = -1;
  bool done = false;  // under the mutex
  pthread_t waiter;

  Shared() {
    sem_init(&semaphore, 0, 0);
    if (::pipe(pipe) != 0) std::abort();
    epoll = epoll_create1(0);
    epoll_event event{EPOLLIN, {}};
    epoll_ctl(epoll, EPOLL_CTL_ADD, pipe[0], &event);
    waiter = pthread_self();
  }
  ~Shared() {
    close(pipe[0]);
    close(pipe[1]);
    close(epoll);
    sem_destroy(&semaphore);
  }
};

template <class Wait>
int under_mutex(Shared& s, Wait wait) {
  pthread_mutex_lock(&s.mutex);
  int error = 0;
  while (!s.done && error == 0) error = wait();
  pthread_mutex_unlock(&s.mutex);
  return error;
}

void wake_condition(Shared& s) {
  pthread_mutex_lock(&s.mutex);
  s.done = true;
  pthread_cond_signal(&s.condition);
  pthread_mutex_unlock(&s.mutex);
}
void broadcast_condition(Shared& s) {
  pthread_mutex_lock(&s.mutex);
  s.done = true;
  pthread_cond_broadcast(&s.condition);
  pthread_mutex_unlock(&s.mutex);
}
void wake_semaphore(Shared& s) { sem_post(&s.semaphore); }
void wake_word(Shared& s) {
  __atomic_store_n(&s.word, 1, __ATOMIC_SEQ_CST);
  syscall(SYS_futex, &s.word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}
void wake_pipe(Shared& s) {
  if (write(s.pipe[1], "x", 1) != 1) std::abort();
}
void interrupt(Shared& s) { pthread_kill(s.waiter, SIGUSR1); }
void nothing(Shared&) {}

int result_or_errno(long result) { return result < 0 ? errno : 0; }
// For calls that answer 0 at their time limit.
int ready_or_errno(long result) { return result == 0 ? ETIMEDOUT : result_or_errno(result); }

fd_set one_file(int file) {
  fd_set files;
  FD_ZERO(&files);
  FD_SET(file, &files);
  return files;
}

int wait_select(Shared& s) {
  fd_set files = one_file(s.pipe[0]);
  return ready_or_errno(select(s.pipe[0] + 1, &files, nullptr, nullptr, nullptr));
}
int wait_pselect(Shared& s) {
  fd_set files = one_file(s.pipe[0]);
  return ready_or_errno(pselect(s.pipe[0] + 1, &files, nullptr, nullptr, nullptr, nullptr));
}

long wait_word(Shared& s, int operation, const timespec* limit) {
  return syscall(SYS_futex, &s.word, operation | FUTEX_PRIVATE_FLAG, 0, limit, nullptr, FUTEX_BITSET_MATCH_ANY);
}

enum class Waker { kThread, kNone };

struct Kind {
  const char* name;
  int call;  // HostCall of the trace format
  int (*wait)(Shared&);
  void (*wake)(Shared&);
  Waker waker;  // whether a trace can know it
};

const Kind kKinds[] = {
    {"pthread_cond_wait", 1,
     [](Shared& s) { return under_mutex(s, [&] { return pthread_cond_wait(&s.condition, &s.mutex); }); },
     wake_condition, Waker::kThread},
    {"pthread_cond_wait broadcast", 1,
     [](Shared& s) { return under_mutex(s, [&] { return pthread_cond_wait(&s.condition, &s.mutex); }); },
     broadcast_condition, Waker::kThread},
    {"pthread_cond_timedwait", 1,
     [](Shared& s) {
       const timespec limit = deadline(CLOCK_REALTIME, kPatienceNs);
       return under_mutex(s, [&] { return pthread_cond_timedwait(&s.condition, &s.mutex, &limit); });
     },
     wake_condition, Waker::kThread},
    {"pthread_cond_timedwait limit", 1,
     [](Shared& s) {
       const timespec limit = deadline(CLOCK_REALTIME, kWaitNs);
       return under_mutex(s, [&] { return pthread_cond_timedwait(&s.condition, &s.mutex, &limit); });
     },
     nothing, Waker::kNone},
    {"pthread_cond_clockwait", 1,
     [](Shared& s) {
       const timespec limit = deadline(CLOCK_MONOTONIC, kPatienceNs);
       return under_mutex(s, [&] { return pthread_cond_clockwait(&s.condition, &s.mutex, CLOCK_MONOTONIC, &limit); });
     },
     wake_condition, Waker::kThread},
    {"sem_wait", 2, [](Shared& s) { return result_or_errno(sem_wait(&s.semaphore)); }, wake_semaphore, Waker::kThread},
    {"sem_wait interrupted", 2, [](Shared& s) { return result_or_errno(sem_wait(&s.semaphore)); }, interrupt,
     Waker::kNone},
    {"sem_timedwait", 2,
     [](Shared& s) {
       const timespec limit = deadline(CLOCK_REALTIME, kPatienceNs);
       return result_or_errno(sem_timedwait(&s.semaphore, &limit));
     },
     wake_semaphore, Waker::kThread},
    {"sem_clockwait", 2,
     [](Shared& s) {
       const timespec limit = deadline(CLOCK_MONOTONIC, kPatienceNs);
       return result_or_errno(sem_clockwait(&s.semaphore, CLOCK_MONOTONIC, &limit));
     },
     wake_semaphore, Waker::kThread},
    {"sem_clockwait limit", 2,
     [](Shared& s) {
       const timespec limit = deadline(CLOCK_MONOTONIC, kWaitNs);
       return result_or_errno(sem_clockwait(&s.semaphore, CLOCK_MONOTONIC, &limit));
     },
     nothing, Waker::kNone},
    {"futex", 3, [](Shared& s) { return result_or_errno(wait_word(s, FUTEX_WAIT, nullptr)); }, wake_word,
     Waker::kThread},
    {"futex bitset", 3, [](Shared& s) { return result_or_errno(wait_word(s, FUTEX_WAIT_BITSET, nullptr)); }, wake_word,
     Waker::kThread},
    {"futex limit", 3,
     [](Shared& s) {
       const timespec limit = to_timespec(kWaitNs);
       return result_or_errno(wait_word(s, FUTEX_WAIT, &limit));
     },
     nothing, Waker::kNone},
    {"poll", 4,
     [](Shared& s) {
       pollfd file{s.pipe[0], POLLIN, 0};
       return ready_or_errno(poll(&file, 1, -1));
     },
     wake_pipe, Waker::kNone},
    {"poll limit", 4, [](Shared&) { return ready_or_errno(poll(nullptr, 0, kWaitNs / 1'000'000)); }, nothing,
     Waker::kNone},
    {"ppoll", 4,
     [](Shared& s) {
       pollfd file{s.pipe[0], POLLIN, 0};
       return ready_or_errno(ppoll(&file, 1, nullptr, nullptr));
     },
     wake_pipe, Waker::kNone},
    {"epoll_wait", 5,
     [](Shared& s) {
       epoll_event event;
       return ready_or_errno(epoll_wait(s.epoll, &event, 1, -1));
     },
     wake_pipe, Waker::kNone},
    {"epoll_pwait", 5,
     [](Shared& s) {
       epoll_event event;
       return ready_or_errno(epoll_pwait(s.epoll, &event, 1, -1, nullptr));
     },
     wake_pipe, Waker::kNone},
    {"read", 6,
     [](Shared& s) {
       char byte;
       return result_or_errno(read(s.pipe[0], &byte, 1));
     },
     wake_pipe, Waker::kNone},
    {"select", 11, wait_select, wake_pipe, Waker::kNone},
    {"pselect", 11, wait_pselect, wake_pipe, Waker::kNone},
    {"nanosleep", 9,
     [](Shared&) {
       const timespec span = to_timespec(kWaitNs);
       return result_or_errno(nanosleep(&span, nullptr));
     },
     nothing, Waker::kNone},
    {"clock_nanosleep", 9,
     [](Shared&) {
       const timespec limit = deadline(CLOCK_MONOTONIC, kWaitNs);
       return clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &limit, nullptr);
     },
     nothing, Waker::kNone},
    {"usleep", 9, [](Shared&) { return result_or_errno(usleep(kWaitNs / 1000)); }, nothing, Waker::kNone},
    {"usleep interrupted", 9, [](Shared&) { return result_or_errno(usleep(900'000)); }, interrupt, Waker::kNone},
};

struct Truth {
  long begin_ns;
  long end_ns;
  int waiter;
  int waker;
};

void write_truth(std::FILE* file, const char* name, int call, const Truth& truth) {
  if (file == nullptr) return;
  std::fprintf(file, "{\"name\":\"%s\",\"call\":%d,\"begin_ns\":%ld,\"end_ns\":%ld,\"thread\":%d,\"waker\":%d}\n", name,
               call, truth.begin_ns, truth.end_ns, truth.waiter, truth.waker);
}

int run_kind(const Kind& kind, std::FILE* file) {
  Shared shared;
  Truth truth{};
  std::atomic<bool> waits{false};
  std::atomic<int> waker_number{0};
  std::thread waker([&] {
    waker_number = thread_number();
    while (!waits) sched_yield();
    const timespec span = to_timespec(kWaitNs);  // how long the wait lasts
    nanosleep(&span, nullptr);
    kind.wake(shared);
  });
  truth.waiter = thread_number();
  while (waker_number == 0) sched_yield();
  waits = true;
  truth.begin_ns = now_ns();
  const int error = kind.wait(shared);
  truth.end_ns = now_ns();
  waker.join();
  truth.waker = kind.waker == Waker::kThread ? waker_number.load() : 0;
  write_truth(file, kind.name, kind.call, truth);
  return error;
}

void* sleep_and_end(void* number) {
  *static_cast<std::atomic<int>*>(number) = thread_number();
  const timespec span = to_timespec(kWaitNs);
  nanosleep(&span, nullptr);
  return nullptr;
}

template <class Join>
void run_join(const char* name, Join join, std::FILE* file) {
  std::atomic<int> number{0};
  pthread_t thread;
  pthread_create(&thread, nullptr, sleep_and_end, &number);
  while (number == 0) sched_yield();
  Truth truth{now_ns(), 0, thread_number(), number.load()};
  const int error = join(thread);
  truth.end_ns = now_ns();
  write_truth(file, name, 8, truth);
  std::printf("%s %d\n", name, error);
}

// Waits for a result like JAX: the work is issued by another thread, and this one sleeps until a host function behind
// the work wakes it. No CUDA call waits.
void run_host_function(std::FILE* file) {
  struct Woken {
    int word = 0;
    std::atomic<int> waker{0};
  } woken;
  std::thread issuer([&] {
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    spin_ns<<<1, 1, 0, stream>>>(10 * kMillisecond);
    CHECK(cudaLaunchHostFunc(
        stream,
        [](void* argument) {
          Woken& w = *static_cast<Woken*>(argument);
          w.waker = thread_number();
          __atomic_store_n(&w.word, 1, __ATOMIC_SEQ_CST);
          syscall(SYS_futex, &w.word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
        },
        &woken));
  });
  Truth truth{now_ns(), 0, thread_number(), 0};
  while (__atomic_load_n(&woken.word, __ATOMIC_SEQ_CST) == 0) {
    syscall(SYS_futex, &woken.word, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0);
  }
  truth.end_ns = now_ns();
  truth.waker = woken.waker;
  issuer.join();
  write_truth(file, "host function", 3, truth);
  std::printf("host function\n");
}

// Giving back much memory takes the kernel a while.
void run_munmap(std::FILE* file) {
  constexpr std::size_t kBytes = 128U << 20;
  void* memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  Truth truth{now_ns(), 0, thread_number(), 0};
  const int error = munmap(memory, kBytes);
  truth.end_ns = now_ns();
  write_truth(file, "munmap", 7, truth);
  std::printf("munmap %d\n", error);
}

}  // namespace

int main(int argc, char** argv) {
  CHECK(cudaFree(nullptr));
  std::FILE* file = argc > 1 ? std::fopen(argv[1], "w") : nullptr;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 1;
  struct sigaction action = {};
  action.sa_handler = [](int) {};
  sigaction(SIGUSR1, &action, nullptr);
  for (int round = 0; round < rounds; ++round) {
    for (const Kind& kind : kKinds) std::printf("%s %d\n", kind.name, run_kind(kind, file));
    run_join(
        "pthread_join", [](pthread_t thread) { return pthread_join(thread, nullptr); }, file);
    const timespec wall = deadline(CLOCK_REALTIME, kPatienceNs);
    run_join(
        "pthread_timedjoin_np", [&](pthread_t thread) { return pthread_timedjoin_np(thread, nullptr, &wall); }, file);
    const timespec limit = deadline(CLOCK_MONOTONIC, kPatienceNs);
    run_join(
        "pthread_clockjoin_np",
        [&](pthread_t thread) { return pthread_clockjoin_np(thread, nullptr, CLOCK_MONOTONIC, &limit); }, file);
    run_host_function(file);
    run_munmap(file);
  }
  if (file != nullptr) std::fclose(file);
  CHECK(cudaDeviceSynchronize());
  return 0;
}
