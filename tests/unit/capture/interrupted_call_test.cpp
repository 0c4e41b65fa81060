// SPDX-License-Identifier: Apache-2.0
// Blocking calls under a storm of signals whose handler repairs what it interrupts. Each is also made under the same
// storm without the repair, where it must fail: otherwise the test would show nothing.
#include "capture/samples/interrupted_call.h"

#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <fstream>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <string>
#include <vector>

#include "support/catch.h"

using namespace synctrace::capture;

namespace {

constexpr int kSignal = SIGURG;
constexpr int kSignals = 8;
constexpr long kWaitMs = 40;
constexpr timespec kWait{0, kWaitMs * 1'000'000};

std::atomic<bool> repairs{true};
std::atomic<int> raise_inside{0};  // a signal that comes while the handler runs
std::atomic<int> restarted{0};
std::atomic<int> unknown{0};
std::atomic<int> handled_by_program{0};

void on_signal(int, siginfo_t*, void* context) {
  const int saved_errno = errno;
  if (const int signal = raise_inside.exchange(0)) pthread_kill(pthread_self(), signal);
  if (repairs) {
    const InterruptedCall call = repair_interrupted_call(*static_cast<ucontext_t*>(context));
    if (call == InterruptedCall::kRestarted) ++restarted;
    if (call == InterruptedCall::kUnknown) ++unknown;
  }
  errno = saved_errno;
}

void install(int signal, void (*handler)(int, siginfo_t*, void*)) {
  struct sigaction action {};
  action.sa_sigaction = handler;
  action.sa_flags = SA_RESTART | SA_SIGINFO | SA_ONSTACK;
  sigfillset(&action.sa_mask);
  REQUIRE(sigaction(signal, &action, nullptr) == 0);
}

// Errno of one call made on a thread that is signalled a few times while it sleeps in the call, 0 when it did not fail.
// Not all the time: a call that is made again waits as long again.
struct Storm {
  const std::function<int()>& call;
  std::atomic<pid_t> thread{0};  // known when nothing is left but the call
  std::atomic<bool> is_over{false};
  int error = -1;
};

// A signal makes a thread that sleeps run at once, so each signal is sent to a call that has begun to wait again.
bool sleeps(pid_t thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
  std::string line;
  std::getline(file, line);
  const std::size_t name_end = line.rfind(')');
  return name_end != std::string::npos && line.compare(name_end, 3, ") S") == 0;
}

int error_under_signals(const std::function<int()>& call) {
  install(kSignal, &on_signal);
  Storm storm{call};
  pthread_t thread;
  const auto body = [](void* context) -> void* {
    auto& here = *static_cast<Storm*>(context);
    here.thread = gettid();
    errno = 0;
    here.error = here.call() == -1 ? errno : 0;
    here.is_over = true;
    return nullptr;
  };
  REQUIRE(pthread_create(&thread, nullptr, body, &storm) == 0);
  for (int i = 0; i < kSignals && !storm.is_over; ++i) {
    while (!storm.is_over && !sleeps(storm.thread)) sched_yield();
    pthread_kill(thread, kSignal);
  }
  pthread_join(thread, nullptr);
  return storm.error;
}

int clock_ms() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<int>(now.tv_sec * 1000 + now.tv_nsec / 1'000'000);
}

struct Case {
  std::string name;
  int expected_error;
  std::function<int()> call;
};

timespec soon() {
  timespec at{};
  clock_gettime(CLOCK_REALTIME, &at);
  at.tv_nsec += kWait.tv_nsec;
  if (at.tv_nsec >= 1'000'000'000) at = {at.tv_sec + 1, at.tv_nsec - 1'000'000'000};
  return at;
}

// Slow enough for many signals, and ended by its time limit.
std::vector<Case> blocking_calls() {
  static int pipe_ends[2];
  static int sockets[2];
  static int epoll = -1;
  static std::uint32_t word = 0;
  if (epoll < 0) {
    REQUIRE(pipe(pipe_ends) == 0);
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
    const timeval limit{0, kWaitMs * 1000};
    REQUIRE(setsockopt(sockets[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) == 0);
    epoll = epoll_create1(0);
    epoll_event event{};
    REQUIRE(epoll_ctl(epoll, EPOLL_CTL_ADD, pipe_ends[0], &event) == 0);
  }
  return {
      {"poll", 0,
       [] {
         pollfd one{pipe_ends[0], POLLIN, 0};
         return poll(&one, 1, kWaitMs);
       }},
      {"ppoll", 0,
       [] {
         pollfd one{pipe_ends[0], POLLIN, 0};
         return ppoll(&one, 1, &kWait, nullptr);
       }},
      {"select", 0,
       [] {
         fd_set set;
         FD_ZERO(&set);
         FD_SET(pipe_ends[0], &set);
         timeval limit{0, kWaitMs * 1000};
         return select(pipe_ends[0] + 1, &set, nullptr, nullptr, &limit);
       }},
      {"pselect", 0, [] { return pselect(0, nullptr, nullptr, nullptr, &kWait, nullptr); }},
      {"epoll_wait", 0,
       [] {
         epoll_event event;
         return epoll_wait(epoll, &event, 1, kWaitMs);
       }},
      {"epoll_pwait", 0,
       [] {
         epoll_event event;
         sigset_t none;
         sigemptyset(&none);
         return epoll_pwait(epoll, &event, 1, kWaitMs, &none);
       }},
      {"nanosleep", 0, [] { return nanosleep(&kWait, nullptr); }},
      {"nanosleep with a rest", 0,
       [] {
         timespec rest{};
         return nanosleep(&kWait, &rest);
       }},
      {"clock_nanosleep", 0,
       [] {
         errno = clock_nanosleep(CLOCK_MONOTONIC, 0, &kWait, nullptr);
         return errno == 0 ? 0 : -1;
       }},
      {"usleep", 0, [] { return usleep(kWaitMs * 1000); }},
      {"sem_timedwait", ETIMEDOUT,
       [] {
         sem_t semaphore;
         sem_init(&semaphore, 0, 0);
         const timespec at = soon();
         return sem_timedwait(&semaphore, &at);
       }},
      {"futex by syscall()", ETIMEDOUT,
       [] { return static_cast<int>(syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &kWait, nullptr, 0)); }},
      {"sigtimedwait", EAGAIN,
       [] {
         sigset_t none;
         sigemptyset(&none);
         return sigtimedwait(&none, nullptr, &kWait);
       }},
      {"read from a socket with a limit", EAGAIN,
       [] {
         char byte;
         return static_cast<int>(read(sockets[0], &byte, 1));
       }},
      {"recv with a limit", EAGAIN,
       [] {
         char byte;
         return static_cast<int>(recv(sockets[0], &byte, 1, 0));
       }},
  };
}

}  // namespace

#if defined(__x86_64__)

// Where the machine stalls, a call's own limit may be over before a signal meets it.
constexpr int kAttempts = 20;

TEST_CASE("calls that a signal ends are made again") {
  for (const Case& one : blocking_calls()) {
    INFO(one.name);
    repairs = false;
    int error = 0;
    for (int attempt = 0; attempt < kAttempts && error != EINTR; ++attempt) error = error_under_signals(one.call);
    CHECK(error == EINTR);
    repairs = true;
    restarted = 0;
    unknown = 0;
    for (int attempt = 0; attempt < kAttempts && restarted == 0; ++attempt) {
      const int begin_ms = clock_ms();
      CHECK(error_under_signals(one.call) == one.expected_error);
      CHECK(clock_ms() - begin_ms >= kWaitMs - 1);
    }
    CHECK(restarted > 0);
    CHECK(unknown == 0);
  }
}

TEST_CASE("a call that never ends by itself goes on until what it waits for") {
  static sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  repairs = true;
  restarted = 0;
  CHECK(error_under_signals([] {
          int ends[2];
          if (pipe(ends) != 0) return -1;
          // What ends the wait comes from a thread of its own, after some signals.
          const int target = restarted + kSignals / 2;
          pthread_t writer;
          static int write_end;
          static int wanted;
          write_end = ends[1];
          wanted = target;
          pthread_create(
              &writer, nullptr,
              [](void*) -> void* {
                while (restarted < wanted) sched_yield();
                return write(write_end, "x", 1) == 1 ? nullptr : &write_end;
              },
              nullptr);
          pollfd one{ends[0], POLLIN, 0};
          const int result = poll(&one, 1, -1);
          pthread_join(writer, nullptr);
          return result == 1 ? 0 : -1;
        }) == 0);
}

TEST_CASE("a signal of the program's own ends the call all the same") {
  struct sigaction action {};
  action.sa_handler = [](int) { ++handled_by_program; };
  REQUIRE(sigaction(SIGUSR1, &action, nullptr) == 0);
  repairs = true;
  handled_by_program = 0;
  raise_inside = SIGUSR1;
  CHECK(error_under_signals([] { return poll(nullptr, 0, 10'000); }) == EINTR);
  CHECK(handled_by_program == 1);
}

TEST_CASE("a signal that the program ignores ends nothing") {
  repairs = true;
  raise_inside = SIGCHLD;
  CHECK(error_under_signals([] { return poll(nullptr, 0, kWaitMs); }) == 0);
}

TEST_CASE("what was not interrupted in a call is left alone") {
  ucontext_t context{};
  context.uc_mcontext.gregs[REG_RAX] = 5;
  CHECK(repair_interrupted_call(context) == InterruptedCall::kNone);
  context.uc_mcontext.gregs[REG_RAX] = -EINTR;
  context.uc_mcontext.gregs[REG_RIP] = 16;
  CHECK(repair_interrupted_call(context) == InterruptedCall::kNone);
  context.uc_mcontext.gregs[REG_RCX] = 16;
  CHECK(repair_interrupted_call(context) == InterruptedCall::kNone);
  CHECK(context.uc_mcontext.gregs[REG_RIP] == 16);
}

namespace {

// The number with which a call would be made again that ended behind this code; -1: not at all.
long number_behind(std::initializer_list<std::uint8_t> code) {
  static std::uint8_t memory[64];
  std::fill(std::begin(memory), std::end(memory), std::uint8_t{0x90});
  std::copy(code.begin(), code.end(), std::end(memory) - code.size());
  ucontext_t context{};
  gregset_t& registers = context.uc_mcontext.gregs;
  const auto end = static_cast<greg_t>(reinterpret_cast<std::uintptr_t>(memory) + sizeof(memory));
  registers[REG_RAX] = -EINTR;
  registers[REG_RIP] = registers[REG_RCX] = end;
  registers[REG_R9] = registers[REG_RBP] = SYS_poll;
  registers[REG_R8] = registers[REG_RDX] = SYS_ppoll;
  const InterruptedCall result = repair_interrupted_call(context);
  if (result == InterruptedCall::kRestarted) {
    CHECK(registers[REG_RIP] == end - 2);
    return static_cast<long>(registers[REG_RAX]);
  }
  CHECK(registers[REG_RIP] == end);
  CHECK(registers[REG_RAX] == -EINTR);
  return -1;
}

}  // namespace

TEST_CASE("a call is made again only when its number is sure") {
  CHECK(number_behind({0xb8, 7, 0, 0, 0, 0x0f, 0x05}) == SYS_poll);                                 // mov $7, %eax
  CHECK(number_behind({0xb8, 0x19, 1, 0, 0, 0x8b, 0x7c, 0x24, 4, 0x0f, 0x05}) == SYS_epoll_pwait);  // and a load
  CHECK(number_behind({0xb8, 0x19, 1, 0, 0, 0x48, 0x8b, 0x74, 0x24, 8, 0x0f, 0x05}) == SYS_epoll_pwait);
  CHECK(number_behind({0x31, 0xc0, 0x0f, 0x05}) == SYS_read);        // xor %eax, %eax
  CHECK(number_behind({0x44, 0x89, 0xc8, 0x0f, 0x05}) == SYS_poll);  // mov %r9d, %eax
  CHECK(number_behind({0x4c, 0x89, 0xc8, 0x0f, 0x05}) == SYS_poll);  // mov %r9, %rax
  CHECK(number_behind({0x89, 0xe8, 0x0f, 0x05}) == SYS_poll);        // mov %ebp, %eax
  CHECK(number_behind({0x8b, 0xc2, 0x0f, 0x05}) == SYS_ppoll);       // mov %edx, %eax, the other way to say it
  CHECK(number_behind({0x41, 0x8b, 0xc1, 0x0f, 0x05}) == SYS_poll);  // mov %r9d, %eax

  CHECK(number_behind({0x0f, 0x05}) == -1);
  CHECK(number_behind({0x41, 0xb8, 7, 0, 0, 0, 0x0f, 0x05}) == -1);                       // mov $7, %r8d
  CHECK(number_behind({0x45, 0x31, 0xc0, 0x0f, 0x05}) == -1);                             // xor %r8d, %r8d
  CHECK(number_behind({0x4d, 0x89, 0xc8, 0x0f, 0x05}) == -1);                             // mov %r9, %r8
  CHECK(number_behind({0x4d, 0x89, 0xc8, 0x4c, 0x8b, 0x4c, 0x24, 8, 0x0f, 0x05}) == -1);  // the C library's syscall()
  CHECK(number_behind({0x89, 0xc8, 0x0f, 0x05}) == -1);                                   // mov %ecx, %eax: gone
  CHECK(number_behind({0x8b, 0x00, 0x0f, 0x05}) == -1);                                   // mov (%rax), %eax
  CHECK(number_behind({0xb8, 3, 0, 0, 0, 0x0f, 0x05}) == -1);   // close: its descriptor is gone
  CHECK(number_behind({0xb8, 16, 0, 0, 0, 0x0f, 0x05}) == -1);  // ioctl
  CHECK(number_behind({0xb8, 7, 0, 0, 0, 0x0f, 0x0b}) == -1);   // no call at all
}

#endif
