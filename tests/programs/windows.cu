// SPDX-License-Identifier: Apache-2.0
// Numbered steps with everything that a recording window can be bound to: NVTX ranges "step" on each, "focus" around
// the chosen ones, and cudaProfilerStart/Stop around the same. windows [STEPS] [FIRST] [LAST] [STEP_MS] Each step
// launches 4 kernels and waits once.
#include <cuda_profiler_api.h>

#include "example.h"
#include "spin.h"

int main(int argc, char** argv) {
  const auto argument = [&](int index, int fallback) { return argc > index ? std::atoi(argv[index]) : fallback; };
  const int steps = argument(1, 40);
  const int first = argument(2, 10);
  const int last = argument(3, 19);
  const long long step_ns = argument(4, 5) * kMillisecond;
  cudaStream_t stream;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  for (int i = 0; i < steps; ++i) {
    if (i == first) {
      CHECK(cudaProfilerStart());
      nvtxRangePushA("focus");
    }
    {
      const Step step;
      for (int k = 0; k < 4; ++k) spin_ns<<<1, 1, 0, stream>>>(step_ns / 4);
      CHECK(cudaStreamSynchronize(stream));
    }
    if (i == last) {
      nvtxRangePop();
      CHECK(cudaProfilerStop());
    }
  }
  std::printf("steps %d kernels %d\n", steps, 4 * steps);
  return 0;
}
