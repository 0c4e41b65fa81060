// SPDX-License-Identifier: Apache-2.0
// Many threads, each with its own stream: a launch, a copy and a wait, over and over. Prints how many of each there
// were, which is what a trace has to contain. threads64 [THREADS] [ROUNDS]
#include <thread>

#include "example.h"
#include "spin.h"

namespace {

void work(int thread, int rounds, std::uint64_t* sum) {
  cudaStream_t stream;
  unsigned char* device;
  unsigned char* host;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CHECK(cudaMalloc(&device, 64));
  CHECK(cudaMallocHost(&host, 64));
  for (int i = 0; i < rounds; ++i) {
    std::memset(host, thread + i, 64);
    CHECK(cudaMemcpyAsync(device, host, 64, cudaMemcpyHostToDevice, stream));
    spin_ns<<<1, 1, 0, stream>>>(10 * kMicrosecond);
    CHECK(cudaMemcpyAsync(host, device, 64, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    *sum = checksum(host, 64, *sum);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 64;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 100;
  CHECK(cudaFree(nullptr));
  std::vector<std::uint64_t> sums(threads, 1);
  std::vector<std::thread> workers;
  for (int i = 0; i < threads; ++i) workers.emplace_back(work, i, rounds, &sums[i]);
  for (std::thread& worker : workers) worker.join();
  std::printf("launches %d copies %d syncs %d checksum %016llx\n", threads * rounds, 2 * threads * rounds,
              threads * rounds, static_cast<unsigned long long>(checksum(sums.data(), sums.size() * sizeof(sums[0]))));
  return 0;
}
