// SPDX-License-Identifier: Apache-2.0
// The stream-ordered allocator: 50 rounds of cudaMallocAsync and cudaFreeAsync, a pool trimmed at the end.
#include "example.h"
#include "spin.h"

int main() {
  constexpr int kRounds = 50;
  cudaStream_t stream;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  std::vector<unsigned char> host(1 << 16);
  std::uint64_t sum = 1;
  for (int i = 0; i < kRounds; ++i) {
    void* block;
    CHECK(cudaMallocAsync(&block, host.size(), stream));
    CHECK(cudaMemsetAsync(block, i, host.size(), stream));
    CHECK(cudaMemcpyAsync(host.data(), block, host.size(), cudaMemcpyDeviceToHost, stream));
    CHECK(cudaFreeAsync(block, stream));
    CHECK(cudaStreamSynchronize(stream));
    sum = checksum(host.data(), host.size(), sum);
  }
  cudaMemPool_t pool;
  CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
  CHECK(cudaMemPoolTrimTo(pool, 0));
  std::printf("rounds %d checksum %016llx\n", kRounds, static_cast<unsigned long long>(sum));
  return 0;
}
