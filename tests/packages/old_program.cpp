// SPDX-License-Identifier: Apache-2.0
// A program that waits for its GPU once a step, for machines with an old C library. It prints what it computed.
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr std::size_t kBytes = 1 << 20;

bool is_fine(cudaError_t status) {
  if (status != cudaSuccess) std::printf("failed: %s\n", cudaGetErrorName(status));
  return status == cudaSuccess;
}

}  // namespace

int main(int argc, char** argv) {
  const int steps = argc > 1 ? std::atoi(argv[1]) : 20;
  void* device = nullptr;
  void* host = nullptr;
  cudaStream_t stream = nullptr;
  if (!is_fine(cudaMalloc(&device, kBytes)) || !is_fine(cudaMallocHost(&host, kBytes))) return 1;
  if (!is_fine(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking))) return 1;
  unsigned sum = 0;
  for (int step = 0; step < steps; ++step) {
    std::memset(host, step, kBytes);
    if (!is_fine(cudaMemcpyAsync(device, host, kBytes, cudaMemcpyHostToDevice, stream))) return 1;
    if (!is_fine(cudaMemcpyAsync(host, device, kBytes, cudaMemcpyDeviceToHost, stream))) return 1;
    if (!is_fine(cudaStreamSynchronize(stream))) return 1;  // the wait
    sum += static_cast<unsigned char*>(host)[kBytes - 1];
  }
  std::printf("sum %u\n", sum);
  return 0;
}
