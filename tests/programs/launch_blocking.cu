// SPDX-License-Identifier: Apache-2.0
// Does a launch wait for its kernel? Only with CUDA_LAUNCH_BLOCKING=1.
#include <algorithm>

#include "example.h"
#include "spin.h"

int main() {
  cudaStream_t stream;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  spin_ns<<<1, 1, 0, stream>>>(1);
  CHECK(cudaStreamSynchronize(stream));
  std::vector<double> milliseconds;
  for (int i = 0; i < 5; ++i) {
    const auto start = std::chrono::steady_clock::now();
    spin_ns<<<1, 1, 0, stream>>>(10 * kMillisecond);
    milliseconds.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
    CHECK(cudaStreamSynchronize(stream));
  }
  std::sort(milliseconds.begin(), milliseconds.end());
  std::printf("launches block: %s\n", milliseconds[2] > 8 ? "yes" : "no");
  return 0;
}
