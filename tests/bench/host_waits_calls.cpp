// SPDX-License-Identifier: Apache-2.0
// What a call of each interposed function costs that has nothing to wait for: "name ns" lines, the best of many
// batches. With --cuda the process uses CUDA first (the runtime is loaded by name), so a preloaded recorder is at work.
// host_waits_cost.py runs it without the recorder, with it, and with it and CUDA.
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace {

constexpr int kBatches = 30;
constexpr int kCallsPerBatch = 1000;

long now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000L + now.tv_nsec;
}

// `prepare` runs before each batch, outside of the measured time.
template <class Prepare, class Call>
void measure(const char* name, Prepare prepare, Call call) {
  long best_ns = 1L << 62;
  for (int batch = 0; batch < kBatches; ++batch) {
    prepare();
    const long begin = now_ns();
    for (int i = 0; i < kCallsPerBatch; ++i) call();
    best_ns = std::min(best_ns, now_ns() - begin);
  }
  std::printf("%s %.1f\n", name, static_cast<double>(best_ns) / kCallsPerBatch);
}

template <class Call>
void measure(const char* name, Call call) {
  measure(
      name, [] {}, call);
}

void use_cuda() {
  void* runtime = dlopen("libcudart.so.13", RTLD_NOW | RTLD_GLOBAL);
  auto* synchronize =
      runtime == nullptr ? nullptr : reinterpret_cast<int (*)()>(dlsym(runtime, "cudaDeviceSynchronize"));
  if (synchronize == nullptr || synchronize() != 0) {
    std::fputs("no CUDA runtime\n", stderr);
    std::exit(1);
  }
}

void measure_threads() {
  sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  const timespec past{1, 0};
  const timespec refused{0, 1'000'000'000};
  int word = 0;
  const auto empty = [&] { sem_init(&semaphore, 0, 0); };
  const auto fill = [&] { sem_init(&semaphore, 0, kCallsPerBatch); };
  measure("sem_post", empty, [&] { sem_post(&semaphore); });
  measure("sem_wait", fill, [&] { sem_wait(&semaphore); });
  measure("sem_clockwait", fill, [&] { sem_clockwait(&semaphore, CLOCK_MONOTONIC, &past); });
  measure("pthread_cond_signal", [&] { pthread_cond_signal(&condition); });
  measure("pthread_cond_broadcast", [&] { pthread_cond_broadcast(&condition); });
  pthread_mutex_lock(&mutex);
  measure("pthread_cond_timedwait", [&] { pthread_cond_timedwait(&condition, &mutex, &refused); });
  pthread_mutex_unlock(&mutex);
  measure("futex wake", [&] { syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0); });
  measure("futex wait", [&] { syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 1, nullptr, nullptr, 0); });
  measure("syscall getpid", [] { syscall(SYS_getpid); });
  measure("pthread_mutex_lock", [&] {
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
  });
}

void measure_files() {
  const int zeros = open("/dev/zero", O_RDONLY | O_CLOEXEC);
  const int epoll = epoll_create1(EPOLL_CLOEXEC);
  char byte = 0;
  epoll_event event{};
  const timespec none{0, 0};
  measure("read", [&] {
    if (read(zeros, &byte, 1) != 1) std::abort();
  });
  measure("poll", [] { poll(nullptr, 0, 0); });
  measure("ppoll", [&] { ppoll(nullptr, 0, &none, nullptr); });
  measure("epoll_wait", [&] { epoll_wait(epoll, &event, 1, 0); });
  measure("select", [] {
    timeval zero{0, 0};
    select(0, nullptr, nullptr, nullptr, &zero);
  });
  measure("clock_nanosleep", [&] { clock_nanosleep(12345, 0, &none, nullptr); });  // no such clock: it returns at once
  measure("munmap", [] { munmap(nullptr, 0); });
}

}  // namespace

// The C library leaves locked instructions out while a process has one thread. One with CUDA has several.
void have_a_second_thread() {
  pthread_t thread{};
  pthread_create(
      &thread, nullptr,
      [](void*) -> void* {
        for (;;) pause();
      },
      nullptr);
}

int main(int argc, char** argv) {
  have_a_second_thread();
  if (argc > 1 && std::strcmp(argv[1], "--cuda") == 0) use_cuda();
  measure_threads();
  measure_files();
  return 0;
}
