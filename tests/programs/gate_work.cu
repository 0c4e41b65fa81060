// SPDX-License-Identifier: Apache-2.0
// Work for Python programs that wait for it by themselves (tests/e2e/gate_*.py): kernels on one stream, which both
// know.
#include <cuda_runtime.h>

#include "example.h"
#include "spin.h"

namespace {

cudaStream_t stream = nullptr;

}  // namespace

extern "C" void* gate_stream() {
  if (stream == nullptr) CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return stream;
}

extern "C" void gate_spin(long long duration_ns) { spin_ns<<<1, 1, 0, stream>>>(duration_ns); }
