// SPDX-License-Identifier: Apache-2.0
// Programs that do to themselves what may do for a tool: strict WAY
//   filter-before, filter-after   a seccomp filter that ends the process at calls which few programs make
//   filter-list                   a filter, in all threads, that ends the process at all calls but those that
//                                 docs/what-a-program-sees.md lists for --plain-syscalls and those of this program
//   filter-open                   after the first call a filter, in all threads, that ends the process where a file is
//   opened strict-prctl, strict-syscall  a thread in seccomp's strict mode, which has used CUDA before strict-fresh the
//   same, which has not filter-wait                   the same filter, no CUDA; until its input ends clear an empty
//   environment before the first CUDA call overflow                      a stack that overflows, in the main thread
//   (overflow-thread: in another)
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <nvtx3/nvToolsExt.h>
#include <semaphore.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <string>
#include <thread>

#include "example.h"
#include "spin.h"

namespace {

void use_cuda(int calls = 2'000) {
  for (int i = 0; i < calls; ++i) {
    spin_ns<<<1, 1>>>(100 * kMicrosecond);
    CHECK(cudaDeviceSynchronize());
  }
}

// Calls of the recorder's that the CUDA driver does not make.
constexpr int kDeadly[] = {SYS_tgkill,  SYS_rename, SYS_renameat, SYS_renameat2, SYS_process_vm_readv, SYS_setpriority,
                           SYS_unshare, SYS_flock,  436 /* close_range */};

void install_filter() {
  constexpr unsigned kCalls = sizeof(kDeadly) / sizeof(*kDeadly);
  sock_filter code[2 + kCalls * 2];
  unsigned size = 0;
  code[size++] = BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr));
  for (const int call : kDeadly) {
    code[size++] = BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(call), 0, 1);
    code[size++] = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
  }
  code[size++] = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  const sock_fprog program{static_cast<unsigned short>(size), code};
  const bool is_on =
      prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
  std::printf("filter %s\n", is_on ? "on" : "refused");
  std::fflush(stdout);
}

#if defined(__x86_64__)
constexpr int kOldOpens[] = {SYS_open, SYS_creat};
constexpr int kOldCalls[] = {SYS_open,     SYS_stat,   SYS_lstat,      SYS_mkdir,
                             SYS_readlink, SYS_access, SYS_arch_prctl, 334 /* rseq */};
#else
constexpr int kOldOpens[] = {SYS_openat};
constexpr int kOldCalls[] = {SYS_faccessat, 293 /* rseq */};
#endif
constexpr int kListed[] = {
    SYS_openat, SYS_read, SYS_write, SYS_close, SYS_lseek, SYS_futex, SYS_mmap, SYS_clone, 435 /* clone3 */,
    SYS_clock_gettime, SYS_prctl, SYS_mprotect, SYS_munmap, SYS_mremap, SYS_madvise, SYS_brk, SYS_newfstatat, SYS_fstat,
    SYS_pread64, SYS_readlinkat, SYS_mkdirat, SYS_faccessat, SYS_fcntl, SYS_getcwd, SYS_uname, SYS_getpid, SYS_getppid,
    SYS_gettid, SYS_prlimit64, SYS_sched_getaffinity, SYS_rt_sigprocmask, SYS_rt_sigaction, SYS_sigaltstack,
    SYS_set_robust_list, SYS_exit,
    // These are made by this program and the simulated GPU.
    SYS_exit_group, SYS_clock_nanosleep, SYS_ioctl, SYS_getrandom, SYS_rt_sigreturn, SYS_restart_syscall};

// In every thread there is, and those to come.
template <std::size_t kCalls, std::size_t kMore>
void install_filter_everywhere(const int (&calls)[kCalls], const int (&more)[kMore], unsigned named, unsigned others) {
  sock_filter code[2 + (kCalls + kMore) * 2];
  unsigned size = 0;
  code[size++] = BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr));
  const auto add = [&](int call) {
    code[size++] = BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(call), 0, 1);
    code[size++] = BPF_STMT(BPF_RET | BPF_K, named);
  };
  for (const int call : calls) add(call);
  for (const int call : more) add(call);
  code[size++] = BPF_STMT(BPF_RET | BPF_K, others);
  const sock_fprog program{static_cast<unsigned short>(size), code};
  const bool is_on = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
                     syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
  std::printf("filter %s\n", is_on ? "on" : "refused");
  std::fflush(stdout);
}

// Runs, waits and wakes in strict mode, where nothing but read, write and exit is allowed: a wrong call ends the
// thread.
void live_strictly(const std::string& way, int wake, const std::atomic<bool>& ran) {
  if (way != "strict-fresh") {
    spin_ns<<<1, 1>>>(100 * kMicrosecond);
    CHECK(cudaDeviceSynchronize());
  }
  sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  const long result = way == "strict-syscall" ? syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 0, nullptr)
                                              : prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0);
  if (result != 0) return;
  while (!ran.load(std::memory_order_relaxed)) {
  }
  char byte = 0;
  for (int i = 0; i < 3; ++i) {
    nvtxRangePushA("strict");
    if (read(wake, &byte, 1) != 1) break;
    sem_post(&semaphore);
    sem_wait(&semaphore);
    nvtxRangePop();
  }
  constexpr char kLives[] = "lives\n";
  static_cast<void>(!write(STDOUT_FILENO, kLives, sizeof(kLives) - 1));
  syscall(SYS_exit, 0);
}

void have_a_strict_thread(const std::string& way) {
  int ends[2];
  if (pipe(ends) != 0) return;
  nvtxMarkA("ready");  // what NVTX looks up it has looked up
  std::atomic<bool> ran{false};
  std::thread strict([&] { live_strictly(way, ends[0], ran); });
  use_cuda();
  ran = true;
  for (int i = 0; i < 3; ++i) {
    use_cuda(100);
    if (write(ends[1], "x", 1) != 1) return;
  }
  strict.join();
}

int overflow(volatile char* above) {
  volatile char frame[4096];
  frame[0] = above[0];
  if (frame[0] == 1) return 0;  // never
  return overflow(frame) + frame[0];
}

}  // namespace

int main(int argc, char** argv) {
  const std::string way = argc > 1 ? argv[1] : "";
  if (way == "filter-before") install_filter();
  if (way == "filter-wait") {
    install_filter();
    return std::getchar() == EOF ? 0 : 1;
  }
  if (way == "filter-list") install_filter_everywhere(kListed, kOldCalls, SECCOMP_RET_ALLOW, SECCOMP_RET_KILL_PROCESS);
  if (way == "clear") clearenv();
  use_cuda();
  if (way == "filter-after") {
    install_filter();
    use_cuda();
  }
  if (way == "filter-open") {
    constexpr int kOpens[] = {SYS_openat, 437 /* openat2 */};
    install_filter_everywhere(kOpens, kOldOpens, SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_ALLOW);
    // Beyond what is done each half second.
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(1'200);
    while (std::chrono::steady_clock::now() < end) use_cuda();
  }
  if (way == "strict-refused") {
    install_filter();
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0) != 0) use_cuda();
  } else if (way.rfind("strict-", 0) == 0) {
    have_a_strict_thread(way);
  }
  std::printf("%s\n", way.c_str());
  std::fflush(stdout);
  volatile char start = 0;
  if (way == "overflow") return overflow(&start);
  if (way == "overflow-thread") std::thread([&start] { overflow(&start); }).join();
  return 5;
}
