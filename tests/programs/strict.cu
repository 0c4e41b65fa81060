// SPDX-License-Identifier: Apache-2.0
// Programs that do to themselves what may do for a tool: strict WAY
//   filter-before, filter-after   a seccomp filter that ends the process at calls which few programs make
//   filter-wait                   the same filter, no CUDA; until its input ends
//   clear                         an empty environment before the first CUDA call
//   overflow                      a stack that overflows, in the main thread (overflow-thread: in another)
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <string>
#include <thread>

#include "example.h"
#include "spin.h"

namespace {

void use_cuda() {
  for (int i = 0; i < 2'000; ++i) {
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
  if (way == "clear") clearenv();
  use_cuda();
  if (way == "filter-after") {
    install_filter();
    use_cuda();
  }
  std::printf("%s\n", way.c_str());
  std::fflush(stdout);
  volatile char start = 0;
  if (way == "overflow") return overflow(&start);
  if (way == "overflow-thread") std::thread([&start] { overflow(&start); }).join();
  return 5;
}
