// SPDX-License-Identifier: Apache-2.0
// Programs that are strict about their descriptors: they close what they do not know, reuse numbers, count them, and
// look at every byte of their files afterwards. descriptors WAY; each way writes files named user.* into the current
// folder and prints only what is the same in every run.
#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <string>
#include <thread>

#include "example.h"
#include "spin.h"

namespace {

constexpr int kMost = 1100;  // more numbers than any tool would use

// Enough for a recorder to write several times: by size, and by time.
void use_cuda(int launches = 8'000) {
  for (int i = 0; i < launches; ++i) spin_ns<<<1, 1>>>(100);
  CHECK(cudaDeviceSynchronize());
  std::this_thread::sleep_for(std::chrono::milliseconds(600));
  for (int i = 0; i < launches; ++i) spin_ns<<<1, 1>>>(100);
  CHECK(cudaDeviceSynchronize());
}

int open_file(const std::string& name) { return open(("user." + name).c_str(), O_RDWR | O_CREAT | O_TRUNC, 0644); }

void fill(int descriptor, std::size_t bytes) {
  const std::string text(bytes, 'u');
  if (write(descriptor, text.data(), bytes) != static_cast<ssize_t>(bytes)) std::printf("short write\n");
}

void close_from(int first) {
  for (int descriptor = first; descriptor < kMost; ++descriptor) close(descriptor);
}

// Opens files until the numbers that a tool may have had are all the program's.
void open_many(const char* name) {
  for (int i = 0; i < 12; ++i) fill(open_file(name + std::to_string(i)), 21 + i * 4096);
}

void take_every_number(int file) {
  for (int descriptor = 3; descriptor < kMost; ++descriptor) {
    if (descriptor != file) dup2(file, descriptor);
  }
}

// Numbers that are open, but for those of the GPU's driver, which has the same ones with and without a tool.
void print_descriptors(const char* when) {
  std::printf("%s:", when);
  for (int descriptor = 0; descriptor < kMost; ++descriptor) {
    if (fcntl(descriptor, F_GETFD) >= 0) std::printf(" %d", descriptor);
  }
  const int lowest = open("/dev/null", O_RDONLY);
  std::printf(", lowest free %d\n", lowest);
  close(lowest);
}

void close_in_the_middle() {
  use_cuda(100);
  close_from(3);
  open_many("middle");
  use_cuda();
}

void close_range_in_the_middle() {
  use_cuda(100);
#ifdef SYS_close_range
  syscall(SYS_close_range, 3U, ~0U, 0U);
#else
  close_from(3);
#endif
  open_many("range");
  use_cuda();
}

void close_at_the_start() {
  close_from(3);
  open_many("start");
  use_cuda();
}

void duplicate_over_all() {
  use_cuda(100);
  const int file = open_file("everywhere");
  fill(file, 65'536);
  take_every_number(file);
  use_cuda();
}

void close_in_a_child() {
  use_cuda(100);
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    close_from(3);
    const int file = open_file("child");
    fill(file, 1000);
    const bool is_good = close(file) == 0 && close(file) != 0;
    _exit(is_good ? 17 : 18);
  }
  use_cuda();
  int status = 0;
  waitpid(child, &status, 0);
  std::printf("child %d\n", WEXITSTATUS(status));
}

// The child takes every number before the fork handlers of anybody could have run twice.
void daemon_with_cuda() {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    setsid();
    close_from(0);
    const int null = open("/dev/null", O_RDWR);
    dup2(null, 1);
    dup2(null, 2);
    open_many("daemon");
    use_cuda();
    std::exit(null == 0 ? 21 : 22);
  }
  int status = 0;
  waitpid(child, &status, 0);
  std::printf("daemon %d\n", WEXITSTATUS(status));
}

void close_at_exit() {
  std::atexit([] {
    close_from(3);
    open_many("last");
  });
  use_cuda();
  std::atexit([] {
    close_from(3);
    open_many("first");
  });
}

void count() {
  print_descriptors("before");
  use_cuda(100);
  print_descriptors("after");
  use_cuda();
  print_descriptors("later");
}

// A file system that is full, for the program's file as for everybody's.
void full_disk() {
  use_cuda(100);
  close_from(3);
  open_many("full");
  signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{2'764, 2'764};
  setrlimit(RLIMIT_FSIZE, &limit);
  use_cuda();
}

// Threads make their first calls, while one thread relies on getting the lowest number again and again. Not so during
// the first call of all, in which the GPU's driver opens files too.
void lowest_number() {
  use_cuda(100);
  std::atomic<bool> is_done{false};
  int wrong = 0;
  const int own = open_file("lowest");
  std::thread reuser([&] {
    while (!is_done) {
      close(own);
      if (open("user.lowest", O_RDWR) != own) ++wrong;
    }
  });
  for (int round = 0; round < 40; ++round) {
    std::thread([] {
      spin_ns<<<1, 1>>>(100);
      CHECK(cudaDeviceSynchronize());
    }).join();
  }
  use_cuda();
  is_done = true;
  reuser.join();
  std::printf("wrong %d\n", wrong);
}

void few_allowed() {
  use_cuda(100);
  const rlimit limit{64, 64};
  setrlimit(RLIMIT_NOFILE, &limit);
  int opened = 0;
  while (open("/dev/null", O_RDONLY) >= 0) ++opened;
  std::printf("opened %d\n", opened);
  use_cuda();
}

void inherited_by_exec(const char* program) {
  use_cuda();
  std::fflush(stdout);
  execl(program, program, "list", nullptr);
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, std::function<void()>> ways = {
      {"close", close_in_the_middle},
      {"close_range", close_range_in_the_middle},
      {"start", close_at_the_start},
      {"dup2", duplicate_over_all},
      {"child", close_in_a_child},
      {"daemon", daemon_with_cuda},
      {"exit", close_at_exit},
      {"count", count},
      {"full", full_disk},
      {"lowest", lowest_number},
      {"few", few_allowed},
      {"exec", [&] { inherited_by_exec(argv[0]); }},
      {"list", [] { print_descriptors("inherited"); }},
  };
  const auto way = ways.find(argc > 1 ? argv[1] : "");
  if (way == ways.end()) return 2;
  way->second();
  std::printf("%s done\n", argv[1]);
  return 3;
}
