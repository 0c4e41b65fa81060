// SPDX-License-Identifier: Apache-2.0
// What the C library's blocking calls may meet: cancellation, signals, jumps out of a handler, children. Prints only
// what is the same in every run.
//
//   hostile_waits cancel|interrupt|jump|handlers|fork|pingpong|often
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>

#include <atomic>
#include <string>
#include <thread>

#include "blocking_call_list.h"
#include "example.h"

namespace {

void use_cuda() { CHECK(cudaDeviceSynchronize()); }

// The kernel says what a thread does: 'S' when it sleeps. A sleep within the first call of a thread that runs is the
// one that is meant, for the thread has nothing else to wait for.
bool sleeps(int thread) {
  char path[64];
  char text[256];
  std::snprintf(path, sizeof path, "/proc/self/task/%d/stat", thread);
  std::FILE* file = std::fopen(path, "r");
  if (file == nullptr) return true;
  const std::size_t length = std::fread(text, 1, sizeof text - 1, file);
  std::fclose(file);
  text[length] = '\0';
  const char* name_end = std::strrchr(text, ')');
  return name_end != nullptr && name_end[2] == 'S';
}

void wait_until_asleep(const std::atomic<int>& thread) {
  while (thread == 0) sched_yield();
  // Twice with time in between: a thread also sleeps for a moment on its way.
  for (int seen = 0; seen < 3;) {
    seen = sleeps(thread) ? seen + 1 : 0;
    const timespec moment{0, 300'000};
    nanosleep(&moment, nullptr);
  }
}

struct Guest {
  const BlockingCall* call;
  Things* things;
  bool cancelled_before = false;
  std::atomic<int> thread{0};
  int destroyed = 0;
  int cleaned = 0;
  int outcome = 0;
};

struct CountsItsEnd {
  int& count;
  ~CountsItsEnd() { ++count; }
};

void* run_guest(void* argument) {
  Guest& guest = *static_cast<Guest*>(argument);
  use_cuda();
  const CountsItsEnd end{guest.destroyed};
  pthread_cleanup_push([](void* count) { ++*static_cast<int*>(count); }, &guest.cleaned);
  if (guest.cancelled_before) pthread_cancel(pthread_self());
  guest.thread = static_cast<int>(syscall(SYS_gettid));
  guest.outcome = guest.call->wait(*guest.things);
  pthread_cleanup_pop(0);
  return nullptr;
}

// A cancelled thread runs its handlers and destructors and leaves no lock behind, whether it was cancelled in the call
// or before it.
void cancel_all() {
  for (const BlockingCall& call : kBlockingCalls) {
    if (!call.is_cancellation_point) continue;
    for (const bool before : {false, true}) {
      Things things;
      Guest guest{&call, &things, before};
      pthread_t thread;
      pthread_create(&thread, nullptr, run_guest, &guest);
      if (!before) {
        wait_until_asleep(guest.thread);
        pthread_cancel(thread);
      }
      void* result = nullptr;
      pthread_join(thread, &result);
      const int lock = pthread_mutex_trylock(&things.mutex);
      std::printf("%s %s cancelled %d cleaned %d destroyed %d lock %d\n", call.name, before ? "before" : "inside",
                  result == PTHREAD_CANCELED, guest.cleaned, guest.destroyed, lock);
      if (lock == 0) pthread_mutex_unlock(&things.mutex);
    }
  }
}

void set_handler(void (*handler)(int), int flags) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigaction(SIGUSR1, &action, nullptr);
}

void interrupt_all() {
  set_handler([](int) { errno = 1234; }, 0);
  for (const BlockingCall& call : kBlockingCalls) {
    if (!call.ends_by_signal) continue;
    Things things;
    Guest guest{&call, &things};
    pthread_t thread;
    pthread_create(&thread, nullptr, run_guest, &guest);
    wait_until_asleep(guest.thread);
    pthread_kill(thread, SIGUSR1);
    pthread_join(thread, nullptr);
    std::printf("%s %d\n", call.name, guest.outcome);
  }
}

thread_local sigjmp_buf way_out;

// Each call is left by a jump, again and again, and the thread waits as before afterwards.
void jump_out_of_all() {
  set_handler([](int) { siglongjmp(way_out, 1); }, 0);
  for (const BlockingCall& call : kBlockingCalls) {
    if (!call.ends_by_signal) continue;  // the others hold a lock or a thread while they wait
    std::atomic<int> jumps{0};
    std::atomic<int> thread_number{0};
    Things things;
    std::thread guest([&] {
      use_cuda();
      for (int round = 0; round < 5; ++round) {
        if (sigsetjmp(way_out, 1) == 0) {
          thread_number = static_cast<int>(syscall(SYS_gettid));
          call.wait(things);
        } else {
          ++jumps;
          thread_number = 0;
        }
      }
      sem_wait(&things.semaphore);
      use_cuda();
    });
    for (int round = 0; round < 5; ++round) {
      wait_until_asleep(thread_number);
      pthread_kill(guest.native_handle(), SIGUSR1);
      while (jumps <= round) sched_yield();
    }
    sem_post(&things.semaphore);
    guest.join();
    std::printf("%s jumps %d\n", call.name, jumps.load());
  }
}

// A handler that reads, polls and posts, 2,000 times a second, over a program that waits and uses CUDA.
int handler_pipe[2];
sem_t handler_semaphore;
std::atomic<long> handler_calls{0};
std::atomic<long> handler_errors{0};

void busy_handler(int) {
  const int saved_errno = errno;
  char byte = 0;
  const bool wrote = write(handler_pipe[1], "y", 1) == 1;
  pollfd file{handler_pipe[0], POLLIN, 0};
  const bool polled = poll(&file, 1, 1000) == 1;
  const bool has_read = read(handler_pipe[0], &byte, 1) == 1 && byte == 'y';
  const timespec moment{0, 100'000};
  const bool slept = nanosleep(&moment, nullptr) == 0 || errno == EINTR;
  errno = 0;
  const bool posted = sem_post(&handler_semaphore) == 0 && errno == 0;
  if (!wrote || !polled || !has_read || !slept || !posted) ++handler_errors;
  ++handler_calls;
  errno = saved_errno;
}

void wait_under_signals() {
  if (pipe(handler_pipe) != 0) std::abort();
  sem_init(&handler_semaphore, 0, 0);
  struct sigaction action = {};
  action.sa_handler = busy_handler;
  action.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &action, nullptr);
  const itimerval often{{0, 500}, {0, 500}};
  setitimer(ITIMER_REAL, &often, nullptr);
  long wrong = 0;
  long posts = 0;
  while (handler_calls < 1000) {
    use_cuda();
    errno = 77;
    while (sem_wait(&handler_semaphore) != 0) {
      if (errno != EINTR) ++wrong;
    }
    ++posts;
    const timespec moment{0, 200'000};
    if (nanosleep(&moment, nullptr) != 0 && errno != EINTR) ++wrong;
    void* memory = std::malloc(1 << 20);
    std::memset(memory, 1, 1 << 20);
    std::free(memory);
  }
  const itimerval never{};
  setitimer(ITIMER_REAL, &never, nullptr);
  while (sem_trywait(&handler_semaphore) == 0) ++posts;
  std::printf("handlers: errors %ld, wrong results %ld, posts lost %ld\n", handler_errors.load(), wrong,
              handler_calls - posts);
}

int child_work() {
  Things things;
  char byte = 0;
  if (write(things.pipe[1], "z", 1) != 1 || read(things.pipe[0], &byte, 1) != 1 || byte != 'z') return 1;
  std::thread poster([&] {
    usleep(1000);
    sem_post(&things.semaphore);
  });
  const bool got = sem_wait(&things.semaphore) == 0;
  poster.join();
  return got ? 42 : 2;
}

int status_of(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// Children by every way, while other threads wait; what they do is theirs.
void fork_children() {
  std::atomic<bool> stop{false};
  std::thread waiter([&] {
    use_cuda();
    while (!stop) usleep(500);
  });
  for (int round = 0; round < 5; ++round) {
    const pid_t forked = fork();
    if (forked == 0) _exit(child_work());
    std::printf("fork %d\n", status_of(forked));
    const pid_t raw = static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
    if (raw == 0) {
      usleep(1000);
      char byte;
      _exit(read(-1, &byte, 1) == -1 && errno == EBADF ? 43 : 3);
    }
    std::printf("clone %d\n", status_of(raw));
    const pid_t borrowed = vfork();
    if (borrowed == 0) {
      usleep(1000);
      char byte;
      _exit(read(-1, &byte, 1) == -1 ? 44 : 4);
    }
    std::printf("vfork %d\n", status_of(borrowed));
    use_cuda();
    usleep(1000);
  }
  stop = true;
  waiter.join();
}

// 64 threads in 32 pairs hand a turn back and forth by semaphores, conditions and futexes.
void play_pingpong() {
  constexpr int kPairs = 32;
  constexpr int kTurns = 300;
  std::atomic<long> turns{0};
  std::vector<std::thread> threads;
  std::vector<Things> tables(kPairs);
  for (int i = 0; i < 2 * kPairs; ++i) {
    threads.emplace_back([&, i] {
      Things& table = tables[i / 2];
      const int me = i % 2;
      use_cuda();
      for (int turn = me; turn < kTurns; turn += 2) {
        pthread_mutex_lock(&table.mutex);
        while (table.word != turn) pthread_cond_wait(&table.condition, &table.mutex);
        __atomic_store_n(&table.word, turn + 1, __ATOMIC_SEQ_CST);
        pthread_cond_broadcast(&table.condition);
        pthread_mutex_unlock(&table.mutex);
        syscall(SYS_futex, &table.word, FUTEX_WAKE_PRIVATE, 2, nullptr, nullptr, 0);
        ++turns;
      }
      for (int value = __atomic_load_n(&table.word, __ATOMIC_SEQ_CST); value != kTurns;
           value = __atomic_load_n(&table.word, __ATOMIC_SEQ_CST)) {
        syscall(SYS_futex, &table.word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
      }
      use_cuda();
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::printf("turns %ld\n", turns.load());
}

// Many short waits in a row, some thousands a second.
void wait_often() {
  for (int i = 0; i < 5000; ++i) usleep(50);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  CHECK(cudaFree(nullptr));
  if (what == "cancel") cancel_all();
  if (what == "interrupt") interrupt_all();
  if (what == "jump") jump_out_of_all();
  if (what == "handlers") wait_under_signals();
  if (what == "fork") fork_children();
  if (what == "pingpong") play_pingpong();
  if (what == "often") wait_often();
  std::printf("done %s\n", what.c_str());
  return 0;
}
