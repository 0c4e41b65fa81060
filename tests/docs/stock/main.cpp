// SPDX-License-Identifier: Apache-2.0
// The main.cpp of the documentation: copies that nobody waits for.
#include <cuda_runtime_api.h>

int main() {
  void* from = nullptr;
  void* to = nullptr;
  cudaStream_t stream = nullptr;
  bool good = cudaMalloc(&from, 1 << 20) == cudaSuccess && cudaMalloc(&to, 1 << 20) == cudaSuccess &&
              cudaStreamCreate(&stream) == cudaSuccess;
  for (int step = 0; step < 20; ++step)
    good = good && cudaMemcpyAsync(to, from, 1 << 20, cudaMemcpyDeviceToDevice, stream) == cudaSuccess;
  return good ? 0 : 1;
}
