// SPDX-License-Identifier: Apache-2.0
// A plug-in that uses CUDA, for dlclose_user: its kernels, its runtime and its NVTX state come and go with it.
#include "example.h"
#include "spin.h"

extern "C" int use_cuda(int launches) {
  cudaStream_t stream;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  for (int i = 0; i < launches; ++i) {
    const Step step;
    spin_ns<<<1, 1, 0, stream>>>(50 * kMicrosecond);
    CHECK(cudaStreamSynchronize(stream));
  }
  CHECK(cudaStreamDestroy(stream));
  return launches;
}
