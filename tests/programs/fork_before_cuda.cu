// SPDX-License-Identifier: Apache-2.0
// Forks first and uses CUDA afterwards, in every process: legal, and each is a recorded process of its own.
// fork_before_cuda [CHILDREN]
#include <sys/wait.h>
#include <unistd.h>

#include "example.h"
#include "spin.h"

namespace {

void use_cuda(int launches) {
  cudaStream_t stream;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  for (int i = 0; i < launches; ++i) {
    spin_ns<<<1, 1, 0, stream>>>(50 * kMicrosecond);
    CHECK(cudaStreamSynchronize(stream));
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int children = argc > 1 ? std::atoi(argv[1]) : 3;
  std::vector<pid_t> pids;
  for (int i = 0; i < children; ++i) {
    std::fflush(stdout);
    const pid_t pid = fork();
    if (pid == 0) {
      use_cuda(10 + i);
      std::exit(20 + i);
    }
    pids.push_back(pid);
  }
  use_cuda(100);
  for (int i = 0; i < children; ++i) {
    int status = 0;
    waitpid(pids[i], &status, 0);
    std::printf("child %d: status %d\n", i, WEXITSTATUS(status));
  }
  return 0;
}
