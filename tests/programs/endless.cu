// SPDX-License-Identifier: Apache-2.0
// Launches and waits until it is killed. Each line says how many rounds are over and when (CLOCK_MONOTONIC, ns), so
// that a test knows how much of the run a trace has to contain.
#include <time.h>

#include "example.h"
#include "spin.h"

namespace {

long long monotonic_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000ll + now.tv_nsec;
}

}  // namespace

int main() {
  cudaStream_t stream;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  for (long long rounds = 1;; ++rounds) {
    spin_ns<<<1, 1, 0, stream>>>(200 * kMicrosecond);
    CHECK(cudaStreamSynchronize(stream));
    if (rounds % 50 != 0) continue;
    std::printf("%lld %lld\n", rounds, monotonic_ns());
    std::fflush(stdout);
  }
}
