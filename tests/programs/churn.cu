// SPDX-License-Identifier: Apache-2.0
// Threads that launch, copy and wait, others that come and go, children that are forked, modules that are loaded and
// unloaded, all beside each other until a file is there: churn FILE. Prints how often something went wrong.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>

#include "example.h"
#include "spin.h"

namespace {

constexpr int kWorkers = 3;

std::atomic<int> errors{0};
std::atomic<bool> ends{false};

void expect(bool holds) {
  if (!holds) errors.fetch_add(1);
}

// Bytes go to the device and come back.
void use_cuda(int number, int rounds) {
  cudaStream_t stream;
  unsigned char* device;
  unsigned char host[64];
  unsigned char back[64];
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CHECK(cudaMalloc(&device, sizeof(host)));
  for (int i = 0; i < rounds && !ends; ++i) {
    const Step range;
    std::memset(host, number + i, sizeof(host));
    expect(cudaMemcpyAsync(device, host, sizeof(host), cudaMemcpyHostToDevice, stream) == cudaSuccess);
    spin_ns<<<1, 1, 0, stream>>>(200 * kMicrosecond);
    expect(cudaMemcpyAsync(back, device, sizeof(back), cudaMemcpyDeviceToHost, stream) == cudaSuccess);
    expect(cudaStreamSynchronize(stream) == cudaSuccess);
    expect(std::memcmp(host, back, sizeof(host)) == 0);
    usleep(1000);
  }
  CHECK(cudaFree(device));
  CHECK(cudaStreamDestroy(stream));
}

void come_and_go() {
  while (!ends) {
    std::thread(use_cuda, 7, 3).join();
    usleep(5000);
  }
}

void fork_children() {
  for (int i = 0; !ends; i = (i + 1) % 50) {
    const pid_t pid = fork();
    if (pid == 0) _exit(i);
    int status = 0;
    expect(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == i);
    usleep(10'000);
  }
}

void load_modules(const std::string& folder) {
  while (!ends) {
    for (const char* name : {"/callers_plugin_a.so", "/callers_plugin_b.so"}) {
      void* library = dlopen((folder + name).c_str(), RTLD_NOW | RTLD_LOCAL);
      expect(library != nullptr);
      usleep(5000);
      expect(library == nullptr || dlclose(library) == 0);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: churn FILE\n"), 2;
  const std::string self = argv[0];
  CHECK(cudaFree(nullptr));
  std::vector<std::thread> threads;
  for (int i = 0; i < kWorkers; ++i) threads.emplace_back(use_cuda, i, 1 << 30);
  threads.emplace_back(come_and_go);
  threads.emplace_back(fork_children);
  threads.emplace_back(load_modules, self.substr(0, self.rfind('/')));
  while (access(argv[1], F_OK) != 0) usleep(10'000);
  ends = true;
  for (std::thread& thread : threads) thread.join();
  std::printf("%d errors\n", errors.load());
  return errors == 0 ? 0 : 1;
}
