// SPDX-License-Identifier: Apache-2.0
// Threads that compute where there is no room for anybody's signal: signal_stacks WAY [BYTES]
//   small BYTES    an alternate signal stack of so many bytes, whose neighbour is the program's memory
//   unmapped, freed  one whose memory is gone
//   in-handler BYTES  a handler of the program's runs on its own one
//   left BYTES     so much is left of the thread's own stack, and below it is the program's memory
//   fibre BYTES    a stack of makecontext(), of so many bytes
//   reset          all signals are set back to what they do by default
//   view           what sigaltstack() says, before, between and after
// Each computes for a fifth of a second, in which a sampler would come 200 times.
#include <alloca.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>

#include "example.h"
#include "spin.h"

namespace {

constexpr unsigned char kMark = 0xa5;
constexpr std::size_t kMarked = 64 << 10;

std::int64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000L + now.tv_nsec;
}

void use_cuda() {
  spin_ns<<<1, 1>>>(100 * kMicrosecond);
  CHECK(cudaDeviceSynchronize());
}

void compute() {
  const std::int64_t end = now_ns() + 200'000'000;
  volatile std::uint64_t sum = 0;
  while (now_ns() < end) {
    for (int i = 0; i < 1000; ++i) sum = sum + i;
  }
}

// Memory of the program's, then `bytes` for a stack.
struct Room {
  explicit Room(std::size_t bytes)
      : base(static_cast<unsigned char*>(aligned_alloc(65536, kMarked + ((bytes + 65535) & ~65535UL)))) {
    std::memset(base, kMark, kMarked);
  }
  unsigned char* stack() const { return base + kMarked; }
  const char* state() const {
    for (std::size_t i = 0; i < kMarked; ++i) {
      if (base[i] != kMark) return "overwritten";
    }
    return "untouched";
  }
  unsigned char* base;
};

void set_signal_stack(void* at, std::size_t bytes) {
  stack_t own{};
  own.ss_sp = at;
  own.ss_size = bytes;
  if (sigaltstack(&own, nullptr) != 0) std::printf("refused\n");
}

void print_view(const char* when) {
  stack_t now{};
  const int result = sigaltstack(nullptr, &now);
  std::printf("%s: %d %d %zu\n", when, result, now.ss_flags, now.ss_size);
}

void* descend(void* bytes_left) {
  use_cuda();
  char here;
  pthread_attr_t attributes;
  void* begin = nullptr;
  std::size_t size = 0;
  pthread_getattr_np(pthread_self(), &attributes);
  pthread_attr_getstack(&attributes, &begin, &size);
  pthread_attr_destroy(&attributes);
  const std::size_t above = static_cast<std::size_t>(&here - static_cast<char*>(begin));
  volatile char* taken = static_cast<char*>(alloca(above - reinterpret_cast<std::size_t>(bytes_left)));
  taken[0] = 1;
  compute();
  return nullptr;
}

void run_left(std::size_t bytes) {
  constexpr std::size_t kStack = 1 << 20;
  const Room room(kStack);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstack(&attributes, room.stack(), kStack);
  pthread_t thread;
  if (pthread_create(&thread, &attributes, descend, reinterpret_cast<void*>(bytes)) != 0) std::exit(1);
  pthread_join(thread, nullptr);
  std::printf("%s\n", room.state());
}

void run_fibre(std::size_t bytes) {
  const Room room(bytes);
  ucontext_t back;
  ucontext_t fibre;
  getcontext(&fibre);
  fibre.uc_stack.ss_sp = room.stack();
  fibre.uc_stack.ss_size = bytes;
  fibre.uc_link = &back;
  makecontext(&fibre, compute, 0);
  swapcontext(&back, &fibre);
  std::printf("%s\n", room.state());
}

void run_in_handler(std::size_t bytes) {
  const Room room(bytes);
  set_signal_stack(room.stack(), bytes);
  struct sigaction action {};
  action.sa_handler = [](int) { compute(); };
  action.sa_flags = SA_ONSTACK;
  sigaction(SIGUSR1, &action, nullptr);
  raise(SIGUSR1);
  std::printf("%s\n", room.state());
}

}  // namespace

int main(int argc, char** argv) {
  const std::string way = argc > 1 ? argv[1] : "";
  const std::size_t bytes = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 0;
  if (way == "view") print_view("before");
  use_cuda();
  if (way == "small") {
    const Room room(bytes);
    set_signal_stack(room.stack(), bytes);
    compute();
    std::printf("%s\n", room.state());
  } else if (way == "unmapped") {
    void* memory = mmap(nullptr, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    set_signal_stack(memory, 65536);
    munmap(memory, 65536);
    compute();
  } else if (way == "freed") {
    void* memory = std::malloc(65536);
    set_signal_stack(memory, 65536);
    std::free(memory);
    auto* again = static_cast<unsigned char*>(std::malloc(65536));
    std::memset(again, kMark, 65536);
    compute();
    std::printf("%d\n", again[65535] == kMark && again[60000] == kMark && again[1000] == kMark);
  } else if (way == "in-handler") {
    run_in_handler(bytes);
  } else if (way == "left") {
    run_left(bytes);
  } else if (way == "fibre") {
    run_fibre(bytes);
  } else if (way == "reset") {
    for (int number = 1; number < NSIG; ++number) signal(number, SIG_DFL);
    compute();
  } else if (way == "view") {
    print_view("after the first call");
    static unsigned char own[32768];
    set_signal_stack(own, sizeof(own));
    print_view("set");
    stack_t none{};
    none.ss_flags = SS_DISABLE;
    sigaltstack(&none, nullptr);
    print_view("disabled");
  } else {
    return 2;
  }
  use_cuda();
  std::printf("done\n");
  return 3;
}
