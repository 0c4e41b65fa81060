// SPDX-License-Identifier: Apache-2.0
// Forks while CUDA is up, as a data loader does: children that never touch CUDA and leave in three ways, and a parent
// that carries on. fork_with_cuda [CHILDREN]
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "example.h"
#include "spin.h"

namespace {

void use_cuda(cudaStream_t stream, int launches) {
  for (int i = 0; i < launches; ++i) {
    spin_ns<<<1, 1, 0, stream>>>(50 * kMicrosecond);
    CHECK(cudaStreamSynchronize(stream));
  }
}

// What a worker does: memory, a thread of its own, NVTX, output; never CUDA.
[[noreturn]] void child(int index) {
  nvtxRangePushA("worker");
  std::vector<int> batch(1 << 16, index);
  std::uint64_t sum = 0;
  std::thread([&] { sum = checksum(batch.data(), batch.size() * sizeof(int)); }).join();
  nvtxRangePop();
  if (index % 3 == 0) _exit(sum == 0 ? 1 : 10 + index);
  if (index % 3 == 1) std::exit(sum == 0 ? 1 : 10 + index);
  raise(SIGTERM);
  _exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  const int children = argc > 1 ? std::atoi(argv[1]) : 6;
  cudaStream_t stream;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  use_cuda(stream, 20);
  for (int i = 0; i < children; ++i) {
    std::fflush(stdout);
    spin_ns<<<1, 1, 0, stream>>>(2 * kMillisecond);  // the GPU is busy at the fork
    const pid_t pid = fork();
    if (pid == 0) child(i);
    use_cuda(stream, 5);
    int status = 0;
    waitpid(pid, &status, 0);
    std::printf("child %d: status %d signal %d\n", i, WEXITSTATUS(status), WIFSIGNALED(status) ? WTERMSIG(status) : 0);
  }
  use_cuda(stream, 20);
  std::printf("parent done\n");
  return 0;
}
